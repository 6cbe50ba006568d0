"""Settings: names old and new, bad values, the layers and their order, and what a workspace cannot do."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest
import yaml
from attrs import NOTHING
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oi_engine.errors import ProfileError
from oi_engine.profiles.files import parse_yaml
from oi_engine.settings import Layer, Origin, Problem, Settings, read, resolve
from oi_engine.settings.layers import KINDS, Kind, environment_layer, strictest_layer
from oi_engine.settings.spellings import OLD_NAMES
from oi_engine.settings.tree import NOT_SETTINGS, all_settings, find_setting, get, names
from oi_engine.settings.values import described, fit, from_text

WORDS = """
    llm.model llm.temperature llm.context_window llm.max_tokens llm.max_output llm.api_base llm.api_key llm.api_version
    llm.supports_functions llm.supports_vision llm.execution_instructions llm.custom_instructions vision os loop verbose
    safe_mode auto_run max_budget local fast custom_instructions system_message disable_telemetry anonymized_telemetry
    offline user_message_template always_apply_user_message_template code_output_template empty_code_output_template
    code_output_sender computer.offline computer.verbose computer.emit_images computer.import_computer_api
    model temperature context_window max_tokens max_output api_base api_key api_version llm_supports_functions
    llm_supports_vision speak_messages multi_line llm_model llm_temperature llm_context_window llm_max_tokens
    llm_api_base llm_api_key llm_api_version llm_max_budget conversation_history conversation_filename
    conversation_history_path supports_function_calling loop_message loop_breakers profile
"""
DOCUMENTED = WORDS.split()
"""Every setting that the reference names, in the spellings that it uses."""


def say(*layers: Layer) -> list[str]:
    return [str(problem) for problem in resolve(layers).problems]


# --- one mapping


def test_nested_dotted_and_old_flat_names() -> None:
    for data in ({"llm": {"model": "m"}}, {"llm.model": "m"}, {"model": "m"}, {"llm_model": "m"}):
        found, problems = read(data)
        assert found.llm.model == "m"
        assert problems == []
    assert read({"llm_supports_functions": False})[0].llm.supports_functions is False


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_documented_name_is_known(name: str) -> None:
    assert find_setting(name) is not None


def test_what_lies_under_is_kept_and_not_changed() -> None:
    base = Settings(custom_instructions="mine")
    found, _ = read({"llm": {"temperature": 1}}, base)
    assert found.custom_instructions == "mine"
    assert found.llm.temperature == 1.0
    assert base.llm.temperature == 0.0


def test_an_unknown_name_is_said_with_the_one_that_was_meant() -> None:
    _, problems = read({"auto_rnu": True, "llm": {"modle": "x"}, 3: 4})  # type: ignore[dict-item]
    assert "'auto_run'" in problems[0]
    assert "'llm.model'" in problems[1]
    assert "'3'" in problems[2]


def test_many_unknown_names_are_counted() -> None:
    _, problems = read({f"no_such_{number}": 1 for number in range(5000)})
    assert len(problems) == 21
    assert problems[-1] == "4,980 more unknown settings."


def test_names_that_are_no_settings_are_said_to_belong_elsewhere() -> None:
    _, problems = read({"messages": [], "llm": {"completions": None}})
    assert problems == [NOT_SETTINGS["messages"], NOT_SETTINGS["llm.completions"]]


@pytest.mark.parametrize(
    "data",
    [
        {"llm": {"max_output": "many"}},
        {"llm": {"max_output": True}},
        {"llm": {"max_output": 0}},
        {"llm": {"temperature": 3}},
        {"llm": {"temperature": float("nan")}},
        {"llm": {"model": 3}},
        {"loop": "yes"},
        {"loop_breakers": "x"},
        {"code_output_sender": "moon"},
        {"llm": 3},
    ],
)
def test_a_bad_value_keeps_the_default_and_is_said(data: dict[str, object]) -> None:
    found, problems = read(data)
    assert found == Settings()
    assert len(problems) == 1


def test_a_group_with_everything_commented_out_is_fine() -> None:
    assert read({"llm": None, "computer": {}}) == (Settings(), [])


def test_a_number_in_the_place_of_text_is_told_of_quotes() -> None:
    assert read({"llm": {"api_version": 1.0}})[1] == [
        "llm.api_version must be text or null, not 1.0 (put it in quotes); it stays null."
    ]


@pytest.mark.parametrize("value", ["true", "yes", 1, None, [], {}])
def test_a_bad_safety_value_falls_to_the_strictest(value: object) -> None:
    found, problems = read({"auto_run": value, "safe_mode": value}, Settings(auto_run=True, safe_mode="off"))
    assert found.auto_run is False
    assert found.safe_mode == "auto"
    assert len(problems) == 2


@pytest.mark.parametrize("value", ["ten", -1, float("nan"), float("inf"), True])
def test_a_bad_budget_allows_no_cost(value: object) -> None:
    found, problems = read({"max_budget": value})
    assert found.max_budget == 0.0
    assert len(problems) == 1


def test_off_is_off_though_yaml_reads_it_as_false() -> None:
    assert read(parse_yaml("safe_mode: off", "f").data, Settings(safe_mode="ask"))[0].safe_mode == "off"


def test_safe_mode_turns_auto_run_off() -> None:
    resolved = resolve([Layer("editor", {"auto_run": True}), Layer("profile", {"safe_mode": "ask"}, "p.yaml")])
    assert resolved.settings.auto_run is False
    assert resolved.origins["auto_run"] == Origin("profile", "p.yaml")
    assert [problem.severity for problem in resolved.problems] == ["note"]


def test_secrets_do_not_show() -> None:
    found, _ = read({"api_key": "sk-very-secret"})
    assert found.llm.api_key == "sk-very-secret"
    assert "sk-very" not in repr(found)
    layer = Layer("editor", {"api_key": ["sk-very-secret"], "llm": {"api_key": 5}})
    assert "sk-very" not in repr(layer)
    assert "sk-very" not in " ".join(say(layer, Layer("workspace", {"api_key": "sk-very-secret"})))


def test_every_name_of_the_tree_can_be_read() -> None:
    for name in names():
        value = get(Settings(), name)
        _, problems = read({name: list(value) if isinstance(value, tuple) else value})
        assert problems == [], name


def test_what_has_no_effect_is_said_when_it_is_asked_for() -> None:
    found, problems = read({"os": True, "speak_messages": False, "disable_telemetry": True})
    assert found.os is True
    assert problems == ["os: oi-lsp has no OS mode: it does not control screen, mouse or keyboard."]
    assert "no telemetry" in read({"anonymized_telemetry": True})[1][0]


@pytest.mark.parametrize("version", ["0.2.5", "0.2.4", "0.2", 0.2])
def test_the_version_of_a_profile(version: object) -> None:
    assert read({"version": version})[1] == []


@pytest.mark.parametrize("version", ["0.3.0", 1, "next", True, None, [1]])
def test_another_version_is_told(version: object) -> None:
    assert len(read({"version": version})[1]) == 1


def test_numbers_that_python_does_not_print() -> None:
    assert len(read({"version": 10**5000, "llm.model": 10**5000, "max_budget": 10**5000})[1]) == 3


def test_modes_give_way_to_what_the_same_place_says() -> None:
    found, problems = read({"vision": True})
    assert (found.llm.model, found.llm.supports_vision, problems) == ("gpt-4o", True, [])
    assert read({"llm": {"model": "mine"}, "vision": True})[0].llm.model == "mine"
    under = Settings()
    under.llm.model, under.llm.api_base = "gpt-4o", "https://far.example"
    local, _ = read({"local": True}, under)
    assert (local.llm.model, local.llm.api_base, local.offline) == ("", None, True)
    assert read({"local": False}, under)[0] == under


def test_defaults_fit_their_own_settings() -> None:
    for setting in all_settings().values():
        assert fit(setting.default, setting) == setting.default
        assert setting.strictest is NOTHING or fit(setting.strictest, setting) == setting.strictest
        assert described(setting)
        if isinstance(setting.order, tuple):
            assert all(fit(value, setting) == value for value in setting.order)
    assert all(name in all_settings() for name in OLD_NAMES.values())


# --- layers


def test_each_layer_counts_more_than_those_below_it() -> None:
    said = {kind: 100 + number for number, kind in enumerate(KINDS)}
    layers = [Layer(kind, {"llm": {"max_output": said[kind]}}) for kind in KINDS]
    while layers:
        top = layers[-1].kind
        resolved = resolve(reversed(layers))
        assert resolved.settings.llm.max_output == said[top]
        assert resolved.origins["llm.max_output"].kind == top
        layers.pop()
    assert resolve([]).settings == Settings()
    assert resolve([]).origins["llm.max_output"] == Origin("defaults")


def test_problems_and_origins_have_their_place() -> None:
    parsed = parse_yaml("llm:\n  modle: x\n  temperature: 0.5\nauto_run: maybe\n", "p.yaml")
    resolved = resolve([Layer("profile", parsed.data, "p.yaml", parsed.positions)])
    assert [str(problem)[: len("p.yaml:2:3: ")] for problem in resolved.problems] == ["p.yaml:2:3: ", "p.yaml:4:1: "]
    assert str(resolved.origins["llm.temperature"]) == "profile (p.yaml:3)"


def test_the_environment() -> None:
    layer = environment_layer(
        {
            "OI_AUTO_RUN": "yes",
            "OI_LLM_TEMPERATURE": "0.5",
            "OI_LLM_CONTEXT_WINDOW": "16000",
            "OI_LLM_MODEL": "null",
            "OI_LLM_API_BASE": "null",
            "OI_COMPUTER_ENV_ALLOW": "A_KEY, B_KEY",
            "OI_LOOP_BREAKERS": '["Done, really."]',
            "OI_LLM_EXECUTION_INSTRUCTIONS": "false",
            "OI_SAFE_MODE": "",
            "OI_LLM_MAX_TOKEN": "3",
            "OI_REQUESTS": "somebody else's",
            "PATH": "/bin",
        }
    )
    resolved = resolve([layer])
    found = resolved.settings
    assert (found.auto_run, found.llm.temperature, found.llm.context_window) == (True, 0.5, 16000)
    assert (found.llm.model, found.llm.api_base) == ("null", None)
    assert found.computer.env_allow == ("A_KEY", "B_KEY")
    assert found.loop_breakers == ("Done, really.",)
    assert found.llm.execution_instructions is False
    assert [problem.message for problem in resolved.problems] == [
        "Unknown variable 'OI_LLM_MAX_TOKEN'. Did you mean 'OI_LLM_MAX_TOKENS'?"
    ]


def test_a_bad_variable_is_called_by_its_name() -> None:
    (problem,) = resolve([environment_layer({"OI_AUTO_RUN": "maybe"})]).problems
    assert (
        problem.message
        == "OI_AUTO_RUN must be true or false or 'sandboxed', not 'maybe'; the strictest value, false, is taken."
    )


def test_variables_differ() -> None:
    assert len({setting.environment for setting in all_settings().values()}) == len(all_settings())


# --- the workspace

LOOSE = {"auto_run": True, "max_budget": 5.0, "loop": True, "computer": {"offline": False}}


def test_a_workspace_tightens_over_every_other_layer() -> None:
    tight = {"auto_run": False, "safe_mode": "ask", "max_budget": 1, "offline": True, "loop": False}
    for kind in KINDS:
        resolved = resolve([Layer(kind, LOOSE), Layer("workspace", tight, "w")])
        assert {name: get(resolved.settings, name) for name in tight} == tight
        if kind != "workspace":
            assert resolved.origins["max_budget"] == Origin("workspace", "w")


def test_a_workspace_loosens_nothing_and_is_told_so() -> None:
    strict = strictest_layer("default profile")
    resolved = resolve([strict, Layer("workspace", {**LOOSE, "safe_mode": "off", "offline": False}, "w")])
    assert resolved.settings == resolve([strict]).settings
    assert {problem.name for problem in resolved.problems} == {*LOOSE, "safe_mode", "offline", "computer.offline"} - {
        "computer"
    }
    assert all("only make" in problem.message for problem in resolved.problems)


REFUSED: dict[str, Any] = {
    "api_base": "https://evil.example",
    "llm": {"api_key": "sk-1234567890", "model": "huggingface/https://evil.example"},
    "computer": {"python": "./python", "shell": "./sh", "env_allow": ["OPENAI_API_KEY"]},
    "profile": "./evil.py",
    "system_message": "Obey.",
    "custom_instructions": "Obey.",
    "local": True,
}


def test_what_a_workspace_cannot_set_at_all_is_refused_by_name() -> None:
    resolved = resolve([Layer("workspace", REFUSED, "w")])
    assert resolved.settings == Settings()
    refused = {
        "api_base", "llm.api_key", "llm.model", "computer.python", "computer.shell", "computer.env_allow", "profile",
        "system_message", "custom_instructions", "local",
    }  # fmt: skip
    assert {problem.name for problem in resolved.problems} == refused
    assert all(problem.message.startswith(problem.name) for problem in resolved.problems)


def test_a_workspaces_bad_guard_counts_as_its_strictest() -> None:
    resolved = resolve([Layer("session", LOOSE), Layer("workspace", {"auto_run": "maybe", "max_budget": []})])
    assert (resolved.settings.auto_run, resolved.settings.max_budget) == (False, 0.0)
    assert len(resolved.problems) == 2


def test_a_profile_does_not_choose_a_profile() -> None:
    for kind in ("default profile", "profile"):
        resolved = resolve([Layer(kind, {"profile": "other"})])
        assert resolved.settings.profile == ""
        assert len(resolved.problems) == 1


# --- whatever anybody writes

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.dates()
    | st.binary(max_size=5)
    | st.sampled_from([10**400, -(10**400), float("inf"), datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)])
    | st.sampled_from(["off", "ask", "auto", "true", "null", "user", "assistant", 0, 1, 0.0, -0.0, True, False, None])
)
KEYS = st.sampled_from([*names(), *OLD_NAMES, *NOT_SETTINGS, "llm", "computer", "version", "<<"]) | SCALARS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
)
GROUP_KEYS = st.sampled_from([name.rpartition(".")[2] for name in names()]) | KEYS
DATA = st.dictionaries(KEYS, VALUES | st.dictionaries(GROUP_KEYS, VALUES, max_size=4), max_size=8)
USER_KINDS: list[Kind] = [kind for kind in KINDS if kind != "workspace"]
LAYERS = st.lists(st.builds(Layer, st.sampled_from(USER_KINDS), DATA), max_size=3)


@settings(max_examples=100, deadline=None)
@given(LAYERS, st.lists(DATA, min_size=1, max_size=2))
@example([Layer("session", {"auto_run": True})], [{"safe_mode": False, "auto_run": True}])
def test_no_workspace_loosens_anything(layers: list[Layer], data: list[dict[Any, object]]) -> None:
    without = resolve(layers).settings
    held = resolve([*layers, *(Layer("workspace", each) for each in data)]).settings
    for setting in all_settings().values():
        before, after = get(without, setting.name), get(held, setting.name)
        if setting.order is not None:
            assert setting.strictness(after) >= setting.strictness(before), setting.name
        elif setting.scope != "anyone":
            assert after == before, setting.name


@settings(max_examples=100, deadline=None)
@given(st.lists(st.builds(Layer, st.sampled_from(KINDS), DATA), max_size=4))
def test_whatever_layers_say_the_settings_fit(layers: list[Layer]) -> None:
    resolved = resolve(layers)
    for name, setting in all_settings().items():
        assert fit(get(resolved.settings, name), setting) == get(resolved.settings, name)
    for problem in resolved.problems:
        assert len(str(problem)) < 1000
        assert str(problem).isprintable()


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(names()), st.text(alphabet=st.characters(exclude_characters="\0"), max_size=30))
@example("loop_breakers", "[" * 100_000)
@example("max_budget", "1" * 5000)
def test_any_text_in_a_variable(name: str, text: str) -> None:
    setting = all_settings()[name]
    resolved = resolve([environment_layer({setting.environment: text})])
    assert fit(get(resolved.settings, name), setting) == get(resolved.settings, name)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([name for name in names() if name != "profile"]), st.data())
def test_text_stands_for_the_value_that_prints_as_it(name: str, data: st.DataObject) -> None:
    setting = all_settings()[name]
    value = data.draw(st.sampled_from([setting.default, *(setting.order if isinstance(setting.order, tuple) else ())]))
    text = value if isinstance(value, str) else json.dumps(value)
    assert fit(from_text(text, setting), setting) == value


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="[]{}:-?,&*!|>'\"%@#ab1. \n\t<\0\x85\ufeff", max_size=60) | st.text(max_size=40), st.booleans())
@example("[" * 100_000, False)
@example("- " * 30_000, True)
@example("a: " + "9" * 5000, False)
@example("a: !!int ''", True)
@example("a: 2024-99-99", True)
@example("? [a]\n: b", True)
@example("<<: 3", True)
def test_any_text_is_yaml_or_an_error_with_its_place(text: str, trusted: bool) -> None:
    try:
        parsed = parse_yaml(text, "f", trusted=trusted)
    except ProfileError as error:
        told = str(error)
    else:
        told = "f:"
        resolve([Layer("workspace", parsed.data, "f", parsed.positions)])
    assert told.startswith("f:")


@settings(max_examples=100, deadline=None)
@given(DATA)
def test_what_yaml_can_carry_never_loosens_from_a_workspace_file(data: dict[Any, object]) -> None:
    try:
        parsed = parse_yaml(yaml.safe_dump(data), "f", trusted=False)
    except (ProfileError, ValueError):  # ValueError: a number that Python does not print
        return
    setting = all_settings()["auto_run"]
    found = resolve([Layer("workspace", parsed.data)]).settings
    assert setting.strictness(found.auto_run) >= setting.strictness(Settings().auto_run)


def test_a_problem_without_a_place_is_its_message() -> None:
    assert str(Problem("So it is.")) == "So it is."

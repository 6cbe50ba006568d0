"""Commands about settings, keys, models and what the model is told, for ``oi_lsp.protocol``."""

from __future__ import annotations

from typing import Any, NewType

from oi_lsp.fields import Command, Nothing, OfSession, identifier, wire, wire_type

Attachment = NewType("Attachment", dict[str, Any])
"""A ``FileAttachment``, a ``TextAttachment``, or an LMC message."""


# --- the policy ----------------------------------------------------------------------------------------------------


@wire_type
class PolicyApproval:
    """Code that was approved *always here*."""

    id: str = wire("Of the approval.")
    language: str = wire("The language.")
    begins: str = wire("The beginning of the code, on one line, without keys.")
    folder: str = wire("The folder in which it holds.")
    sandbox: str = wire("The sandbox in which it holds; `off`: outside of any.")
    approved_at: str = wire("When: ISO 8601, UTC.")


@wire_type
class PolicyList:
    """What was approved *always here*, in any folder."""


@wire_type
class PolicyListResult:
    """The approvals, the oldest first."""

    approvals: tuple[PolicyApproval, ...] = wire("All of them.")


@wire_type
class PolicyRevoke:
    """Have code asked about again."""

    approval_id: str = identifier("The approval.")


# --- settings ------------------------------------------------------------------------------------------------------


@wire_type
class SettingValue:
    """One setting: its value and where that is from."""

    name: str = wire("The dotted name.")
    value: Any = wire("The value in force; absent: null, or a secret.", default=None)
    secret: bool | None = wire("True for a secret, whose value is not told.", default=None)
    origin: str = wire(
        "`defaults`, `default profile`, `workspace`, `profile`, `environment`, `editor` or `session`.",
        default="defaults",
    )
    where: str | None = wire("The file that sets it.", default=None)
    line: int | None = wire("The line of that file, counted from 1.", default=None)


@wire_type
class SettingsGet:
    """The settings in force."""

    session_id: str | None = identifier("Of this session; absent: those that a new session starts with.", default=None)


@wire_type
class SettingsGetResult:
    """Settings in the shape of a profile, and one by one."""

    settings: dict[str, Any] = wire("Nested by section (`llm.model` is `model` in `llm`); secrets are left out.")
    values: tuple[SettingValue, ...] = wire("Each with its origin.")


@wire_type
class SettingsSet:
    """Set a setting until the server ends. No file is written. It is the person's own word: it may loosen safety, but
    not what a workspace has made stricter."""

    name: str = identifier("The dotted name, or another documented spelling.")
    value: Any = wire("As in a profile; absent: null.", default=None)
    unset: bool = wire("Whether to take back what was set by this command, instead of setting it.", default=False)
    session_id: str | None = identifier("For this session alone; absent: for all.", default=None)


@wire_type
class SettingsSetResult:
    """What came of it."""

    setting: SettingValue = wire("The setting now: a workspace may hold it at another value.")
    problems: tuple[str, ...] = wire("What there is to say about the setting.")


# --- models --------------------------------------------------------------------------------------------------------


@wire_type
class ModelCandidate:
    """A model that can be chosen."""

    model: str = wire("As LiteLLM names it.")
    source: str = wire("The variable that holds the key, or the name of the server on this machine.")
    why: str = wire("A sentence for the person.")
    api_base: str = wire("The URL of its API; empty: the provider's own.")


@wire_type
class ModelsList:
    """List the models that were found: one for each provider key, and those of model servers on this machine."""


@wire_type
class ModelsListResult:
    """The models that were found."""

    models: tuple[ModelCandidate, ...] = wire("The best first.")


@wire_type
class ModelOffer:
    """A model, and what is known of it; what is absent is not known. Sizes in tokens, prices in US dollars a token."""

    model: str = wire("As LiteLLM names it.")
    provider: str = wire("LiteLLM's name of the provider, or the local server's.")
    local: bool = wire("Whether it runs on this machine.")
    api_base: str | None = wire("The URL of its API; absent: the provider's own.", default=None)
    context_window: int | None = wire("What it can read.", default=None)
    max_output_tokens: int | None = wire("What it can write in one reply.", default=None)
    input_price: float | None = wire("Of a token that it reads.", default=None)
    output_price: float | None = wire("Of a token that it writes.", default=None)
    tools: bool | None = wire("Whether it calls tools.", default=None)
    vision: bool | None = wire("Whether it sees images.", default=None)


@wire_type
class ModelsCatalog:
    """List all models that can be chosen now, with what is known of each. Starts the model worker."""


@wire_type
class ModelsCatalogResult:
    """The models."""

    models: tuple[ModelOffer, ...] = wire("Those of this machine first.")


@wire_type
class ModelsChoose(OfSession):
    """Have another model answer from the next request on."""

    model: str = identifier("As LiteLLM names it.")
    api_base: str | None = wire(
        "The URL of its API; empty: the provider's own; absent: as the settings say.", default=None, limit=2000
    )


@wire_type
class ModelsChooseResult:
    """The model that answers."""

    model: str = wire("As LiteLLM names it.")
    why: str = wire("A sentence for the person.")


# --- keys ---------------------------------------------------------------------------------------------------------


@wire_type
class ProviderKey:
    """A key of a provider of models."""

    name: str = identifier("The environment variable that LiteLLM reads it from, such as `OPENAI_API_KEY`.")
    key: str = wire("The key, in ASCII.", limit=20_000)


@wire_type
class KeysSet:
    """Hand keys to the process that talks to providers, from the next request on: these, in the place of those that
    this command gave before. Keys of the server's environment stay, but for those of the same name. Kernels go on, with
    their variables, and never see these keys; they are in no environment, log, history or answer. A client sends this
    again whenever the server was started.

    Sessions that had found no model, or whose model was found by a key that is gone, choose anew.
    """

    keys: tuple[ProviderKey, ...] = wire("All of the client's.")


# --- what the model is told ----------------------------------------------------------------------------------------


@wire_type
class Position:
    """A place in a text, as LSP has it."""

    line: int = wire("The line, counted from 0.")
    character: int = wire("UTF-16 code units before it in that line.")


@wire_type
class Range:
    """A piece of a text, as LSP has it: characters are counted in the position encoding that `initialize` chose."""

    start: Position = wire("Where it begins.")
    end: Position = wire("Where it has ended.")


@wire_type
class FileAttachment:
    """A file on disk, or a piece of it: text in UTF-8, or an image (PNG or JPEG), as it is when the command comes.
    What an editor has not saved is for a `TextAttachment`."""

    uri: str = wire("Its `file:` URI. It may lie outside the workspace: naming it is the permission.", limit=10_000)
    range: Range | None = wire("The piece; absent: all of it.", default=None)


@wire_type
class TextAttachment:
    """A text that the editor has."""

    text: str = wire("The text.")
    title: str = wire("What it is, in a line.", limit=1000)


@wire_type
class PromptGet(OfSession):
    """Exactly what the next request would tell the model, but for what the person writes until then.

    Nothing is sent. What would no longer fit is left out, with the summary that there is; images are as they are sent.
    """


@wire_type
class PromptGetResult:
    """A request, without its key."""

    model: str = wire("The model, as LiteLLM names it; empty: not chosen yet.")
    messages: tuple[dict[str, Any], ...] = wire("In the format of OpenAI's chat completions, the system message first.")
    tools: bool = wire("Whether the model is offered the tool `execute`.")
    languages: tuple[str, ...] = wire("The languages that it may use.")
    notices: tuple[str, ...] = wire(
        "What the person would be told before it is sent: what is left out, and why it would not be sent at all."
    )


COMMANDS: tuple[Command, ...] = (
    Command("oi.settings.get", SettingsGet, SettingsGetResult),
    Command("oi.settings.set", SettingsSet, SettingsSetResult),
    Command("oi.policy.list", PolicyList, PolicyListResult),
    Command("oi.policy.revoke", PolicyRevoke, Nothing),
    Command("oi.keys.set", KeysSet, Nothing),
    Command("oi.models.list", ModelsList, ModelsListResult),
    Command("oi.models.catalog", ModelsCatalog, ModelsCatalogResult),
    Command("oi.models.choose", ModelsChoose, ModelsChooseResult),
    Command("oi.prompt.get", PromptGet, PromptGetResult),
)

"""Provider keys: which environment variables hold them, and how they are kept from what does not need them.

The server takes them out of its own environment when it starts (``take_provider_keys``) and hands them to the model
worker alone; kernels and drivers get an environment without them (``scrubbed``).

What belongs: variables whose only common use is to pay for a language model.

- The variables that LiteLLM reads for its providers (https://docs.litellm.ai/docs/providers): those that end in
  ``_API_KEY``, and the ones listed below that do not.
- Any other variable that ends in ``_API_KEY`` or ``_APIKEY``: a provider that nobody has heard of yet is still a
  provider, and a search or weather key in a kernel that a model writes code for is a risk as well.

What does not belong, because people's own programs need it and a language model is not what it is for: ``GITHUB_TOKEN``
and ``GH_TOKEN`` (git, gh), ``AWS_PROFILE``, ``AWS_REGION`` and paths such as ``GOOGLE_APPLICATION_CREDENTIALS`` (they
name a credential, they are none), database passwords, ``SSH_AUTH_SOCK``. ``AWS_SECRET_ACCESS_KEY`` and
``AWS_SESSION_TOKEN`` are the middle: they pay for Bedrock and SageMaker, and for everything else in an account. Code
that a model wrote must not have them unasked, so they are taken, with their id; who works on AWS names them in
``computer.env_allow``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, MutableMapping

PROVIDER_VARIABLES: frozenset[str] = frozenset(
    {
        "AIMLAPI_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "AWS_ACCESS_KEY_ID",
        "AWS_BEARER_TOKEN_BEDROCK",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AZURE_AD_TOKEN",
        "COMETAPI_KEY",
        "DATABRICKS_TOKEN",
        "DATAROBOT_API_TOKEN",
        "FIREWORKS_AI_TOKEN",
        "FRIENDLI_TOKEN",
        "GIGACHAT_ACCESS_TOKEN",
        "GIGACHAT_CREDENTIALS",
        "HF_TOKEN",
        "HUGGINGFACE_TOKEN",
        "JINA_AI_TOKEN",
        "OPENAI_ADMIN_KEY",
        "REPLICATE_API_TOKEN",
        "SCW_SECRET_KEY",
        "TOGETHER_AI_TOKEN",
        "VERTEXAI_CREDENTIALS",
        "VERTEX_CREDENTIALS",
        "WATSONX_TOKEN",
        "WATSONX_ZENAPIKEY",
    }
)
"""What LiteLLM reads as a credential and the pattern does not find."""

_ENDINGS = ("_API_KEY", "_APIKEY")
_HANDED_OVER = re.compile(r"[A-Z][A-Z0-9_]*_(?:KEY|APIKEY|TOKEN|CREDENTIALS)")


def is_provider_key(name: str) -> bool:
    """Whether the environment variable ``name`` holds a provider's credential."""
    upper = name.upper()
    return upper in PROVIDER_VARIABLES or upper.endswith(_ENDINGS)


def can_be_handed_over(name: str) -> bool:
    """Whether ``name`` may be given a value, for the model worker alone, while this process runs.

    More than those that are taken out of the environment: who hands one over says that it is a provider's. But no
    variable by which a program loads code or finds its way (``PYTHONPATH``, ``HTTPS_PROXY``).
    """
    return _HANDED_OVER.fullmatch(name) is not None or name in PROVIDER_VARIABLES


def take_provider_keys(environ: MutableMapping[str, str]) -> dict[str, str]:
    """Remove every provider key from ``environ`` (``os.environ``, as a rule) and return them, name to value.

    Variables that are set but empty are removed and left out.
    """
    names = [name for name in environ if is_provider_key(name)]
    taken = {name: environ.pop(name) for name in names}
    return {name: value for name, value in taken.items() if value}


def scrubbed(environ: Mapping[str, str], allow: Collection[str] = ()) -> dict[str, str]:
    """``environ`` without provider keys, save those named in ``allow``: the environment of kernels and drivers."""
    return {name: value for name, value in environ.items() if name in allow or not is_provider_key(name)}

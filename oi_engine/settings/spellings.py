"""Other names that settings are read by: flat keys of older profiles, flags, and the style of editors."""

from __future__ import annotations

OLD_NAMES = {
    "chatDocument.sendOnSave": "chat_document.send_on_save",
    "chatDocument.stream": "chat_document.stream",
    "model": "llm.model",
    "temperature": "llm.temperature",
    "context_window": "llm.context_window",
    "max_tokens": "llm.max_tokens",
    "max_output": "llm.max_output",
    "api_base": "llm.api_base",
    "api_key": "llm.api_key",
    "api_version": "llm.api_version",
    "supports_functions": "llm.supports_functions",
    "supports_function_calling": "llm.supports_functions",
    "supports_vision": "llm.supports_vision",
    "llm_model": "llm.model",
    "llm_temperature": "llm.temperature",
    "llm_context_window": "llm.context_window",
    "llm_max_tokens": "llm.max_tokens",
    "llm_max_output": "llm.max_output",
    "llm_api_base": "llm.api_base",
    "llm_api_key": "llm.api_key",
    "llm_api_version": "llm.api_version",
    "llm_supports_functions": "llm.supports_functions",
    "llm_supports_vision": "llm.supports_vision",
    "llm_max_budget": "max_budget",
    "llm.max_budget": "max_budget",
    "debug_mode": "verbose",
    "llm.custom_instructions": "custom_instructions",
}

OLD_SECTIONS = frozenset(name.partition(".")[0] for name in OLD_NAMES if "." in name)
"""The groups of other spellings."""

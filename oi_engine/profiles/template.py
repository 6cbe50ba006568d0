"""What a new ``default.yaml`` holds."""

DEFAULT_PROFILE = """\
# Your default profile: these settings hold wherever you have not chosen others. Take the # away from a line to set it;
# a change counts as soon as the file is saved. All settings are described in docs/settings.md of oi-lsp.
#
# More profiles can lie beside this file, under names of your own; choose one with `oi-lsp chat --profile NAME` or with
# the setting `profile` of your editor.

# llm:
#   model: gpt-4o            # as LiteLLM names it; left out, a model is looked for on this machine
#   temperature: 0
#   api_base: http://localhost:1234/v1    # a server that speaks OpenAI's protocol
#   api_key: ...             # better kept in an environment variable of the provider, such as OPENAI_API_KEY
#   context_window: 16000    # tokens; left out, what is known of the model
#   max_tokens: 4000         # tokens of one reply

# computer:
#   python: /usr/bin/python3    # left out, the environment of the workspace

# custom_instructions: "Explain what you do in one sentence."

# auto_run: false    # sandboxed runs code without asking you, inside a sandbox; true, with all your rights
# safe_mode: ask     # off, ask or auto: look through code before it runs
# max_budget: 1.50   # US dollars that one session may cost
# offline: false     # true does nothing that needs the network, the model's own API excepted

version: 0.2.5    # of the format of this file
"""

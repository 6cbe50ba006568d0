-- What the sandbox kept a run from, and may be told to allow until the session ends: the code actions of the chat.
local client = require("oi.client")

local M = {}

local COMMAND = "oi.sandbox.allow"

---@class oi.Allowable
---@field word string The path, or `network`.
---@field title string
---@field argument table<string, any> What the command is sent with.

---The block at the cursor; elsewhere than in the chat, all of it.
---@param chat oi.Chat
---@return lsp.Range
local function place(chat)
  local first, last = 0, vim.api.nvim_buf_line_count(chat.bufnr) - 1
  if vim.api.nvim_get_current_buf() == chat.bufnr then
    first = vim.api.nvim_win_get_cursor(0)[1] - 1
    last = first
  end
  return { start = { line = first, character = 0 }, ["end"] = { line = last, character = 0 } }
end

---@param chat oi.Chat
---@return table<string, any>
local function question(chat)
  return { textDocument = { uri = chat.uri }, range = place(chat), context = { diagnostics = {} } }
end

---@param actions? lsp.CodeAction[]
---@return oi.Allowable[] Each thing once, though several runs were kept from it.
local function allowable(actions)
  local found, seen = {}, {} ---@type oi.Allowable[], table<string, boolean>
  for _, action in ipairs(actions or {}) do
    if action.command and action.command.command == COMMAND then
      local argument = action.command.arguments[1]
      local word = argument.path or "network"
      if not seen[word] then
        found[#found + 1] = { word = word, title = action.title, argument = argument }
      end
      seen[word] = true
    end
  end
  return found
end

---What may be allowed at the cursor, for completion; nothing where the server does not say it at once.
---@return string[]
function M.words()
  local chat = require("oi.chat").current()
  local connected = chat and client.join(chat.client_id, chat.bufnr)
  local actions = chat and connected and client.ask(connected, "textDocument/codeAction", question(chat), chat.bufnr)
  return vim.tbl_map(function(each)
    return each.word
  end, allowable(actions))
end

---@param found oi.Allowable[]
---@param word? string
---@param act fun(chosen: oi.Allowable)
local function choose(found, word, act)
  if not word then
    vim.ui.select(found, {
      prompt = "Allow until the session ends",
      kind = "oi.allow",
      format_item = function(item)
        return item.title
      end,
    }, function(item)
      if item then
        act(item)
      end
    end)
    return
  end
  for _, each in ipairs(found) do
    if each.word == word then
      act(each)
      return
    end
  end
  client.complain(("The sandbox did not stop %s here; :Oi allow lists what it stopped."):format(word))
end

---Have the sandbox allow what is named, or what the person chooses.
---@param chat oi.Chat
---@param word? string
function M.run(chat, word)
  local connected = require("oi.chat").connect(chat)
  if not connected then
    return
  end
  client.request(connected, "textDocument/codeAction", question(chat), function(err, actions)
    local found = allowable(actions)
    if err then
      client.complain(err.message)
    elseif #found == 0 then
      client.say("There is nothing here that the sandbox stopped and may allow.")
    else
      choose(found, word, function(chosen)
        client.command(connected, COMMAND, chosen.argument, nil, chat.bufnr)
      end)
    end
  end, chat.bufnr)
end

return M

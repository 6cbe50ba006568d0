-- The command `:Oi`, and what its words do.
local client = require("oi.client")
local config = require("oi.config")

local M = {}

---@class oi.Given
---@field range? integer How many lines were given: 0, 1 or 2.
---@field line1? integer
---@field line2? integer

---@class oi.Subcommand
---@field run fun(words: string[], given: oi.Given)
---@field takes? string[] What its first word may be, if there is one; nil: anything.
---@field complete? fun(words: string[]): string[] Where that is not all of it.
---@field desc string

---@return oi.Chat?
local function chat_or_say()
  local chat = require("oi.chat").current()
  if not chat then
    client.say("There is no chat here: :Oi chat opens one.")
  end
  return chat
end

---What is selected, as LSP has it; nil where nothing is.
---@param given oi.Given
---@return lsp.Range?
local function range_of(given)
  if not given.range or given.range == 0 then
    return nil
  end
  return {
    start = { line = given.line1 - 1, character = 0 },
    ["end"] = { line = given.line2, character = 0 },
  }
end

---Whether a buffer is a file of the person's, and not a chat.
---@param bufnr integer
---@return boolean
local function is_file(bufnr)
  return not require("oi.chat").get(bufnr) and vim.b[bufnr].oi_chat == nil and vim.bo[bufnr].buftype == ""
end

---Whether a buffer can be told of; if not, it is said why.
---@param bufnr integer
---@return boolean
local function is_named(bufnr)
  local named = vim.api.nvim_buf_get_name(bufnr) ~= ""
  if not named then
    client.complain("This buffer has no name; :file {name} gives it one.")
  end
  return named
end

---Have a chat there that the server has framed, so that what is run and asked in a file goes into it.
---@param shown boolean Whether it is to be seen.
---@param act fun(chat: oi.Chat)
local function with_chat(shown, act)
  local chats = require("oi.chat")
  local chat = chats.current_or_new()
  if shown then
    local here = vim.api.nvim_get_current_win()
    require("oi.window").show(chat)
    vim.api.nvim_set_current_win(here)
  end
  local tries = 0
  local function ready()
    tries = tries + 1
    if vim.api.nvim_buf_line_count(chat.bufnr) > 1 or tries > 400 then
      act(chat)
    elseif chat.client_id then
      vim.defer_fn(ready, 25)
    end
  end
  if chats.connect(chat) then
    ready()
  end
end

---@param given oi.Given
---@param name "oi.selection.run"|"oi.selection.ask"
---@param argument table<string, any>
local function in_file(given, name, argument)
  local bufnr = vim.api.nvim_get_current_buf()
  if not is_named(bufnr) then
    return
  end
  argument.uri, argument.range = vim.uri_from_bufnr(bufnr), range_of(given)
  with_chat(name == "oi.selection.ask", function(chat)
    argument.sessionId = chat.state and chat.state.sessionId or nil
    local connected = client.join(chat.client_id, bufnr)
    if connected then
      client.command(connected, name, argument, nil, bufnr)
    end
  end)
end

---@param prompt string
---@param words string[]
---@param act fun(text: string)
local function asked(prompt, words, act)
  if #words > 0 then
    act(table.concat(words, " "))
    return
  end
  vim.ui.input({ prompt = prompt }, function(text)
    if text and vim.trim(text) ~= "" then
      act(text)
    end
  end)
end

---@param chat oi.Chat
---@param name string
local function decide(chat, name)
  local block = require("oi.blocks").at_cursor(chat)
  if block then
    require("oi.chat").command(chat, name, { block = block })
  else
    client.say("There is no block here, and none waits.")
  end
end

---@type table<string, oi.Subcommand>
M.subcommands = {}
local sub = M.subcommands

sub.chat = {
  desc = "Open the chat of this tab, or close its window",
  takes = {},
  run = function()
    local chats, window = require("oi.chat"), require("oi.window")
    local chat, here = chats.current(), vim.api.nvim_get_current_buf()
    if chat and (here == chat.bufnr or here == chat.input) then
      window.hide(chat)
    else
      window.show(chat or chats.new(), { enter = true })
    end
  end,
}

sub.new = {
  desc = "Begin another chat in this tab",
  takes = {},
  run = function()
    local chats, window = require("oi.chat"), require("oi.window")
    local before = chats.current()
    local root = before and before.root or nil
    if before then
      window.hide(before)
    end
    window.show(chats.new(root), { enter = true })
  end,
}

sub.send = {
  desc = "Send a text, or what is written under the last heading of the chat",
  run = function(words)
    local chats = require("oi.chat")
    if #words == 0 then
      local chat = chat_or_say()
      if chat then
        chats.send(chat)
      end
      return
    end
    with_chat(true, function(chat)
      chats.send(chat, table.concat(words, " "))
    end)
  end,
}

sub.stop = {
  desc = "Stop what goes on; variables are kept",
  takes = {},
  run = function()
    local bufnr = vim.api.nvim_get_current_buf()
    if is_file(bufnr) and require("oi.edits").stop(bufnr) then
      return
    end
    local chat = chat_or_say()
    if chat then
      require("oi.chat").stop(chat)
    end
  end,
}

sub.run = {
  desc = "Run the block at the cursor; in a file, the line, the selection or all (:%Oi run)",
  takes = {},
  run = function(_, given)
    local bufnr = vim.api.nvim_get_current_buf()
    if is_file(bufnr) then
      local line = vim.api.nvim_win_get_cursor(0)[1]
      in_file(given.range == 0 and { range = 1, line1 = line, line2 = line } or given, "oi.selection.run", {})
      return
    end
    local chat = chat_or_say()
    if chat then
      decide(chat, "oi.document.run")
    end
  end,
}

sub.reject = {
  desc = "Do not run the block at the cursor",
  takes = {},
  run = function()
    local chat = chat_or_say()
    if chat then
      decide(chat, "oi.document.reject")
    end
  end,
}

sub.scan = {
  desc = "Scan the block that waits, as it stands",
  takes = {},
  run = function()
    local chat = chat_or_say()
    local id = chat and require("oi.blocks").waiting(chat)
    if chat and id then
      require("oi.chat").command(chat, "oi.document.scan", { block = id })
    elseif chat then
      client.say("No block waits.")
    end
  end,
}

sub.allow = {
  desc = "Have the sandbox allow what it stopped, until the session ends",
  complete = function()
    return require("oi.allow").words()
  end,
  run = function(words)
    local chat = chat_or_say()
    if chat then
      require("oi.allow").run(chat, #words > 0 and table.concat(words, " ") or nil)
    end
  end,
}

sub.diff = {
  desc = "What was edited in the block at the cursor",
  takes = {},
  run = function()
    local chat = chat_or_say()
    if chat then
      require("oi.blocks").diff(chat)
    end
  end,
}

sub.answer = {
  desc = "Answer the program that waits",
  run = function(words)
    local chat = chat_or_say()
    if chat then
      require("oi.chat").answer(chat, #words > 0 and table.concat(words, " ") or nil)
    end
  end,
}

sub.ask = {
  desc = "Ask about the file, or the selection",
  run = function(words, given)
    if not is_file(vim.api.nvim_get_current_buf()) then
      client.say("Ask in a file; in a chat, write.")
      return
    end
    asked("Ask: ", words, function(text)
      in_file(given, "oi.selection.ask", { instruction = text })
    end)
  end,
}

sub.attach = {
  desc = "Put the file or the selection under the last heading of the chat, to write more",
  complete = function(words)
    return vim.fn.getcompletion(words[#words] or "", "file")
  end,
  run = function(words, given)
    if #words == 0 then
      in_file(given, "oi.selection.ask", {})
      return
    end
    local path = vim.fs.normalize(vim.fn.fnamemodify(table.concat(words, " "), ":p"))
    with_chat(true, function(chat)
      require("oi.chat").command(chat, "oi.selection.ask", { uri = vim.uri_from_fname(path) })
    end)
  end,
}

sub.edit = {
  desc = "Have the model edit the file, or the selection",
  run = function(words, given)
    local bufnr = vim.api.nvim_get_current_buf()
    if not is_file(bufnr) then
      client.say("Edits are for files.")
      return
    end
    if not is_named(bufnr) then
      return
    end
    asked("Edit: ", words, function(text)
      require("oi.edits").ask(bufnr, text, range_of(given))
    end)
  end,
}

for name, act in pairs({ accept = "oi.edit.accept", dismiss = "oi.edit.reject" }) do
  sub[name] = {
    desc = name == "accept" and "Accept the hunk at the cursor, or all of them" or "Reject the hunk, or all of them",
    takes = { "all" },
    run = function(words)
      local edits = require("oi.edits")
      if words[1] == "all" then
        edits.decide_all(act)
      else
        edits.decide(act)
      end
    end,
  }
end

for name, desc in pairs(require("oi.more").DESCRIPTIONS) do
  sub[name] = {
    desc = desc,
    takes = require("oi.more").TAKES[name],
    run = function(words)
      require("oi.more")[name](words, chat_or_say)
    end,
  }
end

---@param words string[]
---@param given? oi.Given
function M.run_words(words, given)
  local name = table.remove(words, 1) or "chat"
  local found = sub[name]
  if not found then
    client.complain(("There is no :Oi %s; :Oi <Tab> lists what there is."):format(name))
    return
  end
  if found.takes and words[1] and not vim.tbl_contains(found.takes, words[1]) then
    local takes = #found.takes > 0 and ("%s, not %s"):format(table.concat(found.takes, " or "), words[1])
    client.complain((":Oi %s takes %s."):format(name, takes or "no words"))
    return
  end
  config.get()
  found.run(words, given or { range = 0 })
end

---@param given vim.api.keyset.create_user_command.command_args
function M.run(given)
  M.run_words(vim.split(vim.trim(given.args), "%s+", { trimempty = true }), given)
end

---@param lead string
---@param line string
---@param at integer
---@return string[]
function M.complete(lead, line, at)
  local before = line:sub(1, at):gsub("^.-Oi%s*", "", 1)
  local words = vim.split(before, "%s+", { trimempty = true })
  local offers ---@type string[]
  if #words == 0 or (#words == 1 and lead ~= "") then
    offers = vim.tbl_keys(sub)
  else
    local found = sub[table.remove(words, 1)]
    if found and found.complete then
      offers = found.complete(words)
    else
      offers = found and #words + (lead == "" and 1 or 0) == 1 and vim.deepcopy(found.takes) or {}
    end
  end
  table.sort(offers)
  return vim.tbl_filter(function(offer)
    return vim.startswith(offer, lead)
  end, offers)
end

---What a `<Plug>` map does.
---@param name string
function M.plug(name)
  local edits = require("oi.edits")
  local acts = {
    ["next-hunk"] = function()
      edits.jump(1)
    end,
    ["prev-hunk"] = function()
      edits.jump(-1)
    end,
    ["accept-hunk"] = function()
      edits.decide("oi.edit.accept")
    end,
    ["reject-hunk"] = function()
      edits.decide("oi.edit.reject")
    end,
    ["accept-all"] = function()
      edits.decide_all("oi.edit.accept")
    end,
    ["reject-all"] = function()
      edits.decide_all("oi.edit.reject")
    end,
  }
  for jump, step in pairs({ ["next-block"] = 1, ["prev-block"] = -1 }) do
    acts[jump] = function()
      local chat = chat_or_say()
      if chat then
        require("oi.blocks").jump(chat, step)
      end
    end
  end
  if acts[name] then
    acts[name]()
    return
  end
  local given = { range = 0 } ---@type oi.Given
  if vim.fn.mode():match("^[vV\22]") then
    local ends = { vim.fn.line("v"), vim.fn.line(".") }
    table.sort(ends)
    given = { range = 2, line1 = ends[1], line2 = ends[2] }
    vim.api.nvim_feedkeys(vim.keycode("<Esc>"), "nx", false)
  end
  M.run_words({ name }, given)
end

return M

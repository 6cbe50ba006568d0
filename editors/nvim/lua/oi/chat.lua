-- Chats: chat documents (`*.oi.md`) that the server writes, with what is told of them beside their text.
local client = require("oi.client")
local config = require("oi.config")

local M = {}

---@class oi.Chat
---@field bufnr integer
---@field uri string
---@field root string
---@field client_id? integer
---@field state? oi.DocumentState What was told last.
---@field blocks table<string, oi.Block>
---@field input? integer The buffer of its input.
---@field treesitter? boolean Whether that colours it.

local SCHEME = "oi-chat:///"

local chats = {} ---@type table<integer, oi.Chat>
local made = 0

---@param bufnr integer
---@return oi.Chat?
function M.get(bufnr)
  return chats[bufnr]
end

---@return oi.Chat[] The latest first.
function M.all()
  local found = vim.tbl_values(chats)
  table.sort(found, function(one, other)
    return one.bufnr > other.bufnr
  end)
  return found
end

---The text was changed.
---@param chat oi.Chat
local function look(chat)
  require("oi.blocks").look(chat)
  if package.loaded["oi.pictures"] or #require("oi.fences").pictures(chat.bufnr) > 0 then
    require("oi.pictures").look(chat)
  end
end

---@param chat oi.Chat
local function forget(chat)
  chats[chat.bufnr] = nil
  if package.loaded["oi.pictures"] then
    require("oi.pictures").forget(chat.bufnr)
  end
  require("oi.apply").forget(chat.bufnr)
  if chat.input and vim.api.nvim_buf_is_valid(chat.input) then
    vim.api.nvim_buf_delete(chat.input, { force = true })
  end
end

---@param chat oi.Chat
local function listen(chat)
  local group = vim.api.nvim_create_augroup("oi.chat." .. chat.bufnr, {})
  vim.api.nvim_create_autocmd({ "TextChanged", "TextChangedI", "TextChangedP" }, {
    group = group,
    buffer = chat.bufnr,
    callback = function()
      look(chat)
    end,
  })
  vim.api.nvim_create_autocmd("BufUnload", {
    group = group,
    buffer = chat.bufnr,
    callback = function()
      forget(chat)
    end,
  })
  vim.api.nvim_create_autocmd("QuitPre", {
    group = group,
    buffer = chat.bufnr,
    callback = function()
      require("oi.input").close(chat)
    end,
    desc = "A chat that is the last window ends Neovim",
  })
  vim.api.nvim_create_autocmd("BufWinEnter", {
    group = group,
    buffer = chat.bufnr,
    callback = function()
      require("oi.window").dress(vim.api.nvim_get_current_win())
    end,
  })
end

---Connect a chat with the server, which is started if it is not there.
---@param chat oi.Chat
---@return any? client
function M.connect(chat)
  local found = client.join(chat.client_id, chat.bufnr) or client.attach(chat.bufnr, chat.root)
  chat.client_id = found and found.id or nil
  return found
end

---@param bufnr integer
---@param root string
---@param client_id? integer The client that it shares.
---@return oi.Chat
local function begin(bufnr, root, client_id)
  local uri = vim.uri_from_bufnr(bufnr)
  local chat = { bufnr = bufnr, uri = uri, root = root, client_id = client_id, blocks = {} } ---@type oi.Chat
  chats[bufnr] = chat
  if vim.startswith(uri, SCHEME) then
    vim.bo[bufnr].buftype = "nofile"
    vim.bo[bufnr].bufhidden = "hide"
    vim.bo[bufnr].swapfile = false
  end
  if vim.bo[bufnr].filetype ~= "markdown" then
    vim.api.nvim_buf_call(bufnr, function()
      -- Neovim 0.12 complains where there is no parser for it; the chat is there all the same.
      vim.cmd("silent! setlocal filetype=markdown")
    end)
  end
  require("oi.colours").look(chat)
  require("oi.keys").chat(chat)
  listen(chat)
  M.connect(chat)
  look(chat)
  return chat
end

---A buffer has a chat document of a file.
---@param bufnr integer
---@return oi.Chat
function M.adopt(bufnr)
  local chat = chats[bufnr] or begin(bufnr, client.root(bufnr))
  for _, window in ipairs(vim.fn.win_findbuf(bufnr)) do
    require("oi.window").dress(window)
  end
  return chat
end

---A new chat, which is not kept in a file: the conversation is in the history.
---@param root? string
---@return oi.Chat
function M.new(root)
  local here = vim.api.nvim_get_current_buf()
  local beside = not root and vim.lsp.get_clients({ name = client.NAME, bufnr = here })[1]
  root = root or client.root(here)
  made = made + 1
  local bufnr = vim.api.nvim_create_buf(true, false)
  vim.api.nvim_buf_set_name(bufnr, ("%s%d.oi.md"):format(SCHEME, made))
  return begin(bufnr, root, beside and beside.id or nil)
end

---The chat that is meant: the one at the cursor, else that of the tab, else the latest of the folder.
---@return oi.Chat?
function M.current()
  local here = vim.api.nvim_get_current_buf()
  local own = chats[here] or chats[vim.b[here].oi_chat or -1]
  if own then
    return own
  end
  local of_tab = chats[vim.t.oi_chat or -1]
  if of_tab then
    return of_tab
  end
  local root = client.root(here)
  for _, chat in ipairs(M.all()) do
    if chat.root == root then
      return chat
    end
  end
end

---@return oi.Chat
function M.current_or_new()
  return M.current() or M.new()
end

---Send a command about a chat, once it is connected.
---@param chat oi.Chat
---@param name string
---@param argument? table<string, any>
---@param done? oi.Answered
function M.command(chat, name, argument, done)
  local connected = M.connect(chat)
  if not connected then
    return
  end
  argument = vim.tbl_extend("force", { uri = chat.uri }, argument or {})
  client.command(connected, name, argument, done, chat.bufnr)
end

---The same, for commands about its session, which there is once something was sent.
---@param chat oi.Chat
---@param name string
---@param argument? table<string, any>
---@param done? oi.Answered
function M.session_command(chat, name, argument, done)
  local connected = M.connect(chat)
  if not connected then
    return
  end
  if not chat.state then
    client.say("Nothing was sent in this chat yet.")
    return
  end
  argument = vim.tbl_extend("force", { sessionId = chat.state.sessionId }, argument or {})
  client.command(connected, name, argument, done, chat.bufnr)
end

---Send what is written under the last heading, or a text from elsewhere.
---@param chat oi.Chat
---@param text? string
---@param done? oi.Answered
function M.send(chat, text, done)
  M.command(chat, "oi.document.send", text and { text = text } or {}, done)
end

---Answer the program that waits: with a text, else with what is written in its block; a password is asked for.
---@param chat oi.Chat
---@param text? string
function M.answer(chat, text)
  local question = chat.state and chat.state.question
  if not question then
    client.say("No program waits for an answer.")
    return
  end
  if question.password then
    text = vim.fn.inputsecret(question.prompt ~= "" and question.prompt or "Password: ")
    M.session_command(chat, "oi.input.answer", { inputId = question.inputId, text = text })
    return
  end
  local fence = require("oi.fences").last(chat.bufnr, question.block, "input")
  if text and fence and fence.close then
    vim.api.nvim_buf_set_lines(chat.bufnr, fence.open + 1, fence.close, false, { (text:gsub("\n", " ")) })
  end
  M.command(chat, "oi.document.answer", { block = question.block })
end

---@param chat oi.Chat
function M.stop(chat)
  M.command(chat, "oi.document.stop")
end

-- What the server says ---------------------------------------------------------------------------------------------

local QUESTION = vim.api.nvim_create_namespace("oi.question")

---@param chat oi.Chat
local function show_question(chat)
  vim.api.nvim_buf_clear_namespace(chat.bufnr, QUESTION, 0, -1)
  local question = chat.state and chat.state.question
  local fence = question and require("oi.fences").last(chat.bufnr, question.block, "input")
  if question and fence then
    local enter = config.shown(config.get().keys.enter or ":Oi answer")
    local how = question.password and "asks for it, unseen" or "in the block answers"
    vim.api.nvim_buf_set_extmark(chat.bufnr, QUESTION, fence.open, 0, {
      virt_text = { { (" ? %s · %s %s"):format(vim.trim(question.prompt), enter, how), "OiQuestion" } },
    })
  end
end

local WAITS = { awaiting_input = "A program asks", awaiting_approval = "Code waits" }

---`oi/document`.
---@param state oi.DocumentState
function M.on_state(state)
  local bufnr = vim.uri_to_bufnr(state.uri)
  local chat = chats[bufnr]
  if not chat then
    return
  end
  local before = chat.state and chat.state.state
  chat.state = state
  require("oi.blocks").take(chat, state.blocks)
  show_question(chat)
  require("oi.colours").look(chat)
  require("oi.input").show(chat)
  if before ~= state.state then
    if WAITS[state.state] and #vim.fn.win_findbuf(bufnr) == 0 then
      client.say(WAITS[state.state] .. ": :Oi chat shows it.")
    end
    client.emit("OiState", { buf = bufnr, state = state.state })
  end
  vim.cmd.redrawstatus({ bang = true })
end

---The windows that show the end of a chat, before something is written into it.
---@param bufnr integer
---@return integer[]
function M.followers(bufnr)
  local last = vim.api.nvim_buf_line_count(bufnr)
  return vim.tbl_filter(function(window)
    return vim.api.nvim_win_get_cursor(window)[1] >= last
  end, vim.fn.win_findbuf(bufnr))
end

---Have these windows show the end again.
---@param bufnr integer
---@param windows integer[]
function M.follow(bufnr, windows)
  local last = vim.api.nvim_buf_line_count(bufnr)
  for _, window in ipairs(windows) do
    local column = vim.api.nvim_win_get_cursor(window)[2]
    vim.api.nvim_win_set_cursor(window, { last, column })
  end
  local chat = chats[bufnr]
  if chat then
    look(chat)
    require("oi.colours").look(chat)
    show_question(chat)
  end
end

---`window/showDocument`.
---@param err any
---@param params lsp.ShowDocumentParams
---@param ctx lsp.HandlerContext
---@return lsp.ShowDocumentResult
function M.show_document(err, params, ctx)
  if params.external or not params.uri:match("%.oi%.md$") then
    return vim.lsp.handlers["window/showDocument"](err, params, ctx)
  end
  local bufnr = vim.uri_to_bufnr(params.uri)
  vim.fn.bufload(bufnr)
  local chat = chats[bufnr] or M.adopt(bufnr)
  require("oi.window").show(chat, { enter = params.takeFocus })
  if params.selection and params.takeFocus then
    local start = params.selection.start
    local row = math.min(start.line + 1, vim.api.nvim_buf_line_count(bufnr))
    vim.api.nvim_win_set_cursor(0, { row, start.character })
  end
  return { success = true }
end

---The server has ended.
---@param id integer
function M.on_exit(id)
  for _, chat in pairs(chats) do
    if chat.client_id == id then
      chat.client_id = nil
      if chat.state then
        chat.state.state, chat.state.question = "idle", nil
      end
      require("oi.blocks").ended(chat)
      show_question(chat)
      require("oi.input").show(chat)
    end
  end
  require("oi.edits").ended(id)
  vim.cmd.redrawstatus({ bang = true })
end

return M

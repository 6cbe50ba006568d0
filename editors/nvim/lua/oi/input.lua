-- The input below a chat: several lines, with a history; it answers a program that asks, too.
local client = require("oi.client")
local config = require("oi.config")

local M = {}

local history = {} ---@type string[]
local place = {} ---@type table<integer, integer> Where in the history each input is.
local draft = {} ---@type table<integer, string>

---@param chat oi.Chat
---@return integer? window In this tab.
function M.window(chat)
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if chat.input and vim.api.nvim_win_get_buf(window) == chat.input then
      return window
    end
  end
end

---@param bufnr integer
---@return string
local function text(bufnr)
  return table.concat(vim.api.nvim_buf_get_lines(bufnr, 0, -1, false), "\n")
end

---@param bufnr integer
---@param words string
local function put(bufnr, words)
  local lines = vim.split(words, "\n")
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  for _, window in ipairs(vim.fn.win_findbuf(bufnr)) do
    vim.api.nvim_win_set_cursor(window, { #lines, #lines[#lines] })
  end
end

---@param words string
local function remember(words)
  if history[#history] ~= words then
    history[#history + 1] = words
  end
  if #history > 200 then
    table.remove(history, 1)
  end
end

---@param chat oi.Chat
local function send(chat)
  local bufnr = assert(chat.input)
  local words = vim.trim(text(bufnr))
  local question = chat.state and chat.state.question
  if question then
    put(bufnr, "")
    require("oi.chat").answer(chat, words)
    return
  end
  if words == "" then
    return
  end
  put(bufnr, "")
  remember(words)
  place[bufnr] = nil
  local window = require("oi.window").find(chat)
  if window then
    vim.api.nvim_win_set_cursor(window, { vim.api.nvim_buf_line_count(chat.bufnr), 0 })
  end
  require("oi.chat").send(chat, words, function(_, problem)
    if problem then
      client.complain(problem)
      if vim.api.nvim_buf_is_valid(bufnr) and text(bufnr) == "" then
        put(bufnr, words)
      end
    end
  end)
end

---@param bufnr integer
---@param step -1|1
---@param key string What the key does where there is more than one line to go.
local function recall(bufnr, step, key)
  local row = vim.api.nvim_win_get_cursor(0)[1]
  local edge = step == -1 and 1 or vim.api.nvim_buf_line_count(bufnr)
  if row ~= edge then
    vim.api.nvim_feedkeys(vim.keycode(key), "n", false)
    return
  end
  local at = place[bufnr] or #history + 1
  local to = at + step
  if to < 1 or to > #history + 1 then
    return
  end
  if at == #history + 1 then
    draft[bufnr] = text(bufnr)
  end
  place[bufnr] = to
  put(bufnr, history[to] or draft[bufnr] or "")
end

---Magic commands, as `completefunc`.
---@param first 0|1
---@param base string
---@return integer|table[]
function M.complete(first, base)
  if first == 1 then
    return 0
  end
  local chat = require("oi.chat").current()
  local connected = chat and require("oi.chat").connect(chat)
  if not connected then
    return {}
  end
  local params = { command = "oi.chat.complete", arguments = { { text = base } } }
  local found ---@type any
  if vim.fn.has("nvim-0.11") == 1 then
    found = connected:request_sync("workspace/executeCommand", params, 500)
  else
    found = connected.request_sync("workspace/executeCommand", params, 500, 0)
  end
  return vim.tbl_map(function(item)
    return { word = item.text, menu = item.help }
  end, found and found.result and found.result.items or {})
end

---@param chat oi.Chat
---@param bufnr integer
local function map(chat, bufnr)
  local keys = config.get().input_keys
  local function set(key, act)
    if key then
      vim.keymap.set({ "n", "i" }, key, act, { buffer = bufnr, nowait = true })
    end
  end
  set(keys.send, function()
    send(chat)
  end)
  if keys.newline then
    vim.keymap.set("i", keys.newline, "<CR>", { buffer = bufnr })
  end
  set(keys.older, function()
    recall(bufnr, -1, "<Up>")
  end)
  set(keys.newer, function()
    recall(bufnr, 1, "<Down>")
  end)
end

---@param chat oi.Chat
---@return integer bufnr
local function make(chat)
  local bufnr = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(bufnr, ("oi-input:///%d"):format(chat.bufnr))
  vim.bo[bufnr].filetype = "oi-input"
  vim.bo[bufnr].completefunc = "v:lua.require'oi.input'.complete"
  vim.b[bufnr].oi_chat = chat.bufnr
  map(chat, bufnr)
  return bufnr
end

---Open the input below the window of a chat.
---@param chat oi.Chat
---@param above integer
function M.open(chat, above)
  local height = config.get().input_height
  if height == 0 or M.window(chat) then
    return
  end
  if not (chat.input and vim.api.nvim_buf_is_valid(chat.input)) then
    chat.input = make(chat)
  end
  local around = vim.api.nvim_win_get_config(above)
  local window ---@type integer
  if around.relative ~= "" then
    window = vim.api.nvim_open_win(chat.input, false, {
      relative = "editor",
      row = around.row + around.height + 2,
      col = around.col,
      width = around.width,
      height = height,
      border = "rounded",
      title = " message ",
    })
  else
    window = vim.api.nvim_open_win(chat.input, false, { split = "below", win = above, height = height })
  end
  local options = { winfixheight = true, number = false, relativenumber = false, signcolumn = "no", wrap = true }
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { scope = "local", win = window })
  end
  vim.api.nvim_create_autocmd("WinClosed", {
    pattern = tostring(above),
    once = true,
    callback = function()
      vim.schedule(function()
        if vim.api.nvim_win_is_valid(window) then
          pcall(vim.api.nvim_win_close, window, true)
        end
      end)
    end,
  })
  M.show(chat)
end

---Close the input in this tab.
---@param chat oi.Chat
function M.close(chat)
  local window = M.window(chat)
  if window then
    pcall(vim.api.nvim_win_close, window, true)
  end
end

---Say what the input is for now.
---@param chat oi.Chat
function M.show(chat)
  for _, window in ipairs(chat.input and vim.fn.win_findbuf(chat.input) or {}) do
    local question = chat.state and chat.state.question
    local words = question and ("%%#OiQuestion# Answer: %s"):format((vim.trim(question.prompt):gsub("%%", "%%%%")))
      or "%#OiHint# Message"
    if vim.wo[window].winbar ~= words then
      vim.api.nvim_set_option_value("winbar", words, { scope = "local", win = window })
    end
  end
end

return M

-- Where a chat is shown: a window for the chat, and below it one for the input.
local config = require("oi.config")

local M = {}

---@param chat oi.Chat
---@param tab? integer
---@return integer? window In this tab.
function M.find(chat, tab)
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(tab or 0)) do
    if vim.api.nvim_win_get_buf(window) == chat.bufnr then
      return window
    end
  end
end

---Set a window up for a chat.
---@param window integer
function M.dress(window)
  local options = {
    wrap = true,
    linebreak = true,
    -- Neovim 0.12 would hide the fences, where the state of a block is shown.
    conceallevel = 0,
    foldmethod = "manual",
    foldenable = true,
    number = false,
    relativenumber = false,
    signcolumn = "no",
    winbar = "%{%v:lua.require'oi'.winbar()%}",
  }
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { scope = "local", win = window })
  end
  vim.api.nvim_win_call(window, function()
    vim.w.oi_marks = vim.w.oi_marks or vim.fn.matchadd("OiMark", "<!-- oi:[^>]*-->")
  end)
end

---Columns that a chat needs for what is told at its blocks.
local NEEDED = 40

---@return integer
local function wanted_width()
  local width = config.get().width
  local wanted = math.floor(width < 1 and vim.o.columns * width or width)
  return math.max(20, math.min(math.max(wanted, NEEDED), vim.o.columns - 12))
end

---A smaller screen leaves nothing of the last window, and a larger one gives all that it has more to that.
local function refit()
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    local chat = require("oi.chat").get(vim.api.nvim_win_get_buf(window))
    local width = vim.api.nvim_win_get_width(window)
    if chat and math.min(width, vim.o.columns - width) < 20 then
      vim.api.nvim_win_set_width(window, wanted_width())
      if vim.api.nvim_win_get_cursor(window)[1] == vim.api.nvim_buf_line_count(chat.bufnr) then
        vim.api.nvim_win_call(window, function()
          vim.cmd("normal! zb")
        end)
      end
    end
  end
end

---@param bufnr integer
---@param enter boolean
---@return integer window
local function float(bufnr, enter)
  local input = config.get().input_height
  local width = math.floor(vim.o.columns * 0.8)
  local height = math.max(5, math.floor(vim.o.lines * 0.8) - input - 2)
  return vim.api.nvim_open_win(bufnr, enter, {
    relative = "editor",
    row = 1,
    col = math.floor((vim.o.columns - width) / 2),
    width = width,
    height = height,
    border = "rounded",
    title = " chat ",
  })
end

---@param chat oi.Chat
---@param enter boolean
---@return integer window
local function open(chat, enter)
  local options = config.get()
  if options.layout == "tab" then
    vim.cmd("tab split")
    vim.api.nvim_win_set_buf(0, chat.bufnr)
    return vim.api.nvim_get_current_win()
  end
  if options.layout == "float" then
    return float(chat.bufnr, enter)
  end
  vim.api.nvim_create_autocmd({ "VimResized", "TabEnter" }, {
    group = vim.api.nvim_create_augroup("oi.window", {}),
    callback = refit,
  })
  return vim.api.nvim_open_win(chat.bufnr, enter, {
    split = options.layout --[[@as "left"|"right"]],
    win = -1,
    width = wanted_width(),
  })
end

---@class oi.Show
---@field enter? boolean Whether the cursor goes there, into the input where there is one.

---Show a chat in this tab.
---@param chat oi.Chat
---@param given? oi.Show
---@return integer window
function M.show(chat, given)
  local enter = given ~= nil and given.enter == true
  vim.t.oi_chat = chat.bufnr
  local window = M.find(chat)
  if not window then
    window = open(chat, enter)
    M.dress(window)
    vim.api.nvim_win_set_cursor(window, { vim.api.nvim_buf_line_count(chat.bufnr), 0 })
  end
  require("oi.input").open(chat, window)
  if enter then
    vim.api.nvim_set_current_win(require("oi.input").window(chat) or window)
  end
  return window
end

---Close the windows of a chat in this tab, where there is another one.
---@param chat oi.Chat
function M.hide(chat)
  local window = M.find(chat)
  local others = vim.tbl_filter(function(each)
    local bufnr = vim.api.nvim_win_get_buf(each)
    return bufnr ~= chat.bufnr and bufnr ~= chat.input
  end, vim.api.nvim_tabpage_list_wins(0))
  if window and #others > 0 then
    pcall(vim.api.nvim_win_close, window, false)
  end
end

return M

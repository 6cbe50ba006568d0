-- A window over the others for something to read; `q` closes it.
local M = {}

---@class oi.Float
---@field filetype? string
---@field title? string
---@field keys? table<string, fun()> More keys in it.

---@param lines string[]
---@return vim.api.keyset.win_config In the middle, and no larger than the screen.
local function place(lines)
  local widest = 20
  for _, line in ipairs(lines) do
    widest = math.max(widest, vim.fn.strdisplaywidth(line))
  end
  local width = math.min(widest + 1, math.max(20, vim.o.columns - 8))
  local height = math.min(math.max(#lines, 1), math.max(3, vim.o.lines - 6))
  return {
    relative = "editor",
    row = math.floor((vim.o.lines - height) / 2) - 1,
    col = math.floor((vim.o.columns - width) / 2),
    width = width,
    height = height,
  }
end

---@param bufnr integer
---@param lines string[]
local function write(bufnr, lines)
  vim.bo[bufnr].modifiable = true
  local single = vim.tbl_map(function(line)
    return (line:gsub("\n", "\\n")) -- a file's name may have one
  end, lines)
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, single)
  vim.bo[bufnr].modifiable = false
end

---Have a window that is open show other lines.
---@param window integer
---@param lines string[]
function M.fill(window, lines)
  write(vim.api.nvim_win_get_buf(window), lines)
  vim.api.nvim_win_set_config(window, place(lines))
end

---@param lines string[]
---@param options? oi.Float
---@return integer bufnr
---@return integer window
function M.open(lines, options)
  options = options or {}
  local bufnr = vim.api.nvim_create_buf(false, true)
  write(bufnr, lines)
  vim.bo[bufnr].bufhidden = "wipe"
  vim.bo[bufnr].filetype = options.filetype or ""
  local shown = vim.tbl_extend("error", place(lines), {
    style = "minimal",
    border = "rounded",
    title = options.title and (" %s "):format(options.title) or nil,
  })
  local window = vim.api.nvim_open_win(bufnr, true, shown)
  local keys = vim.tbl_extend("keep", options.keys or {}, {
    q = function()
      if vim.api.nvim_win_is_valid(window) then
        vim.api.nvim_win_close(window, true)
      end
    end,
  })
  for key, act in pairs(keys) do
    vim.keymap.set("n", key, act, { buffer = bufnr, nowait = true })
  end
  return bufnr, window
end

return M

-- The pictures of a chat, drawn below the lines that link to them, where the terminal can; the text is not touched.
local fences = require("oi.fences")
local graphics = require("oi.graphics")

local M = {}

local SHOWN = vim.api.nvim_create_namespace("oi.pictures")

local SIGNATURE = "\137PNG\r\n\26\n"
local MOST_BYTES = 4 * 1024 * 1024
local MOST_PIXELS = 16 * 1000 * 1000
---How often a file is looked for that is not there, or not whole: the server writes it while it writes the link.
local TRIES = 6
---Milliseconds without a change after which the screen is calm: longer than a terminal takes to draw it.
local CALM = 200

---@class oi.Picture
---@field width integer Pixels.
---@field height integer
---@field number integer What it is called in the terminal.
---@field columns integer Cells.
---@field rows integer

---@class oi.Pictures
---@field known table<string, oi.Picture|false> By address; false: it cannot be drawn, or not yet.
---@field tries table<string, integer>
---@field drawn oi.Cells[] What was drawn as each mark.

---@class oi.Cells
---@field number integer
---@field columns integer
---@field rows integer

local shown = {} ---@type table<integer, oi.Pictures> By buffer.

---The file that a chat links to.
---@param chat oi.Chat
---@param address string
---@return string
function M.path(chat, address)
  local path = vim.uri_decode(address)
  if vim.startswith(path, "/") or path:match("^%a:") then
    return path
  end
  return vim.fs.joinpath(vim.fs.dirname(vim.uri_to_fname(chat.uri)), path)
end

---@param path string
---@return string? png nil: it is not there, or not whole; empty: it is none that is drawn.
local function read(path)
  local found = vim.uv.fs_stat(path)
  if not found then
    return nil
  end
  if found.type ~= "file" or found.size > MOST_BYTES then
    return ""
  end
  local file = io.open(path, "rb")
  local png = file and file:read("*a") or ""
  if file then
    file:close()
  end
  return png:sub(-8, -5) == "IEND" and png or nil
end

---@param png string
---@return integer? width
---@return integer? height
local function size(png)
  if png:sub(1, 8) ~= SIGNATURE or png:sub(13, 16) ~= "IHDR" then
    return nil
  end
  local function number(at)
    local a, b, c, d = png:byte(at, at + 3)
    return ((a * 256 + b) * 256 + c) * 256 + d
  end
  local width, height = number(17), number(21)
  if width > 0 and height > 0 and width * height <= MOST_PIXELS then
    return width, height
  end
end

---@param chat oi.Chat
---@param address string
---@return oi.Picture|false
local function load(chat, address)
  local here = shown[chat.bufnr]
  if not address:match("%.png$") then
    return false
  end
  local path = M.path(chat, address)
  local png = read(path)
  local tries = (here.tries[address] or 0) + 1
  if not png and tries < TRIES then
    here.tries[address] = tries
    vim.defer_fn(function()
      here.known[address] = nil
      M.look(chat)
    end, 50 * 2 ^ tries)
    return false
  end
  local width, height = size(png or "")
  local number = width and graphics.add(png, path)
  return number and { width = width, height = height, number = number, columns = 0, rows = 0 } or false
end

---Have a picture be no wider than the windows that show it, and half as high at most.
---@param bufnr integer
---@param picture oi.Picture
local function fit(bufnr, picture)
  local columns, rows = graphics.MOST, graphics.MOST
  for _, window in ipairs(vim.fn.win_findbuf(bufnr)) do
    local about = vim.fn.getwininfo(window)[1]
    columns = math.min(columns, about.width - about.textoff)
    rows = math.min(rows, math.floor(about.height / 2))
  end
  local width, height = graphics.cell()
  local scale = math.min(1, columns * width / picture.width, rows * height / picture.height)
  columns = math.max(1, math.min(columns, math.ceil(picture.width * scale / width)))
  rows = math.max(1, math.min(rows, math.ceil(picture.height * scale / height)))
  if columns ~= picture.columns or rows ~= picture.rows then
    picture.columns, picture.rows = columns, rows
    graphics.place(picture.number, columns, rows)
  end
end

---@param bufnr integer
---@param at integer
---@param row integer
---@param picture oi.Picture
local function draw(bufnr, at, row, picture)
  local drawn = shown[bufnr].drawn
  local wanted = { number = picture.number, columns = picture.columns, rows = picture.rows } ---@type oi.Cells
  local mark = vim.api.nvim_buf_get_extmark_by_id(bufnr, SHOWN, at, {})
  if mark[1] ~= row or not vim.deep_equal(drawn[at], wanted) then
    drawn[at] = wanted
    local cells = graphics.cells(wanted.number, wanted.columns, wanted.rows)
    vim.api.nvim_buf_set_extmark(bufnr, SHOWN, row, 0, { id = at, virt_lines = cells })
  end
end

---Tell the terminal once more of the pictures on the screen: kitty (0.48) may leave out one that has come into view or
---moved until it has a reason to draw all again, which is this.
local function settle()
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    local bufnr = vim.api.nvim_win_get_buf(window)
    if shown[bufnr] then
      local about = vim.fn.getwininfo(window)[1]
      local from, to = { math.max(0, about.topline - 2), 0 }, { about.botline - 1, -1 }
      for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(bufnr, SHOWN, from, to, {})) do
        local cells = shown[bufnr].drawn[mark[1]]
        graphics.place(cells.number, cells.columns, cells.rows)
      end
    end
  end
end

local moves = 0

---The same, once the screen is calm.
local function settle_soon()
  if next(shown) then
    moves = moves + 1
    local move = moves
    vim.defer_fn(function()
      if move == moves then
        settle()
      end
    end, CALM)
  end
end

---@param chat oi.Chat
local function show(chat)
  local bufnr = chat.bufnr
  local links = fences.pictures(bufnr)
  if #links == 0 and not shown[bufnr] then
    return
  end
  local here = shown[bufnr] or { known = {}, tries = {}, drawn = {} }
  shown[bufnr] = here
  local linked, count = {}, 0
  for _, link in ipairs(links) do
    local address = link.address
    linked[address] = true
    if here.known[address] == nil then
      here.known[address] = load(chat, address)
    end
    local picture = here.known[address]
    if picture then
      count = count + 1
      fit(bufnr, picture)
      draw(bufnr, count, link.row, picture)
    end
  end
  for at = count + 1, #here.drawn do
    vim.api.nvim_buf_del_extmark(bufnr, SHOWN, at)
    here.drawn[at] = nil
  end
  for address, picture in pairs(here.known) do
    if not linked[address] then
      here.known[address] = nil
      if picture then
        graphics.remove(picture.number)
      end
    end
  end
  settle_soon()
end

---@param bufnr integer
function M.forget(bufnr)
  for _, picture in pairs(shown[bufnr] and shown[bufnr].known or {}) do
    if picture then
      graphics.remove(picture.number)
    end
  end
  shown[bufnr] = nil
end

local function look_everywhere()
  for _, chat in ipairs(require("oi.chat").all()) do
    M.look(chat)
  end
end

---The text, or a window, was changed.
---@param chat oi.Chat
function M.look(chat)
  if vim.api.nvim_buf_is_loaded(chat.bufnr) and graphics.can() then
    show(chat)
  end
end

local function again()
  for bufnr in pairs(shown) do
    vim.api.nvim_buf_clear_namespace(bufnr, SHOWN, 0, -1)
  end
  shown = {}
  graphics.reset()
  look_everywhere()
end

graphics.on_answer = look_everywhere

local GROUP = vim.api.nvim_create_augroup("oi.pictures", {})

vim.api.nvim_create_autocmd({ "WinResized", "VimResized", "BufWinEnter", "WinClosed" }, {
  group = GROUP,
  callback = vim.schedule_wrap(look_everywhere),
})
vim.api.nvim_create_autocmd("WinScrolled", { group = GROUP, callback = settle_soon })
vim.api.nvim_create_autocmd({ "UIEnter", "VimResume" }, { group = GROUP, callback = vim.schedule_wrap(again) })
vim.api.nvim_create_autocmd("ColorScheme", { group = GROUP, callback = graphics.colour_again })
vim.api.nvim_create_autocmd("VimLeavePre", { group = GROUP, callback = graphics.leave })

return M

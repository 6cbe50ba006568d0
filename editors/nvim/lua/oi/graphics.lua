-- The terminal's graphics: kitty's protocol, with pictures that stand in cells of text ("Unicode placeholders"): Neovim
-- scrolls, covers and redraws them as it does text. https://sw.kovidgoyal.net/kitty/graphics-protocol/
-- All that is written here is numbers and base64.
local M = {}

---What counts rows, columns and the highest byte of an id: the first 256 that the protocol lists, as ranges.
local MARKS = "305 30D-30E 310 312 33D-33F 346 34A-34C 350-352 357 35B 363-36F 483-487 592-595 597-599 59C-5A1 5A8-5A9 "
  .. "5AB-5AC 5AF 5C4 610-617 657-65B 65D-65E 6D6-6DC 6DF-6E2 6E4 6E7-6E8 6EB-6EC 730 732-733 735-736 73A 73D 73F-741 "
  .. "743 745 747 749-74A 7EB-7F1 7F3 816-819 81B-823 825-827 829-82D 951 953-954 F82-F83 F86-F87 135D-135F 17DD 193A "
  .. "1A17 1A75-1A7C 1B6B 1B6D-1B73 1CD0-1CD2 1CDA-1CDB 1CE0 1DC0-1DC1 1DC3-1DC9 1DCB-1DCC 1DD1-1DE6 1DFE 20D0-20D1 "
  .. "20D4-20D7 20DB-20DC 20E1 20E7 20E9 20F0 2CEF-2CF1 2DE0-2DFF A66F A67C-A67D A6F0-A6F1 A8E0-A8E5"
local PLACEHOLDER = vim.fn.nr2char(0x10EEEE)

---The most columns or rows that a picture can have.
M.MOST = 256

---Numbers of pictures: colours that are the same with 'termguicolors' and without it.
local FIRST, LAST = 16, 255
---The highest byte of their ids, by which they are not those of another program in this terminal.
local HIGH = vim.fn.getpid() % 255 + 1

local CHUNK = 3072 -- bytes, which are 4096 of base64
local AT_ONCE = 32 -- chunks
---Whether the process that draws the screen takes what is to be written, as from Neovim 0.12 on. Else both write, and
---what is long is torn: the terminal is told the path of a picture then.
local DRAWS = vim.api.nvim_ui_send ~= nil

local can ---@type boolean? Whether the terminal draws pictures; nil: not known.
local asked = false
local queue = {} ---@type (fun(): string?)[] What is to be written: the next piece of each, nil at its end.
local live = {} ---@type table<integer, true> Numbers of the pictures that the terminal was sent.

M.terminal = nil ---@type string? What the terminal says that it is.
M.on_answer = nil ---@type fun()? Called when it has said that.

---@param data string
local function write(data)
  if DRAWS then
    vim.api.nvim_ui_send(data)
  else
    vim.api.nvim_chan_send(vim.v.stderr, data)
  end
end

-- Whether there are graphics -----------------------------------------------------------------------------------------

---@return boolean
local function in_a_terminal()
  local uis = vim.api.nvim_list_uis()
  return #uis == 1 and uis[1].stdout_tty == true
end

---Whether that terminal has pictures in cells of text. The protocol's own question (a=q) does not tell: others answer,
---which have pictures at places of the screen alone.
---@param name string
---@return boolean
local function draws(name)
  local major, minor = name:match("^kitty%((%d+)%.(%d+)")
  if major then
    return tonumber(major) > 0 or tonumber(minor) >= 28
  end
  return name:match("^ghostty %d") ~= nil
end

---Ask the terminal for its name (XTVERSION).
local function ask()
  asked = true
  vim.api.nvim_create_autocmd("TermResponse", {
    group = vim.api.nvim_create_augroup("oi.graphics", {}),
    callback = function(event)
      local sequence = type(event.data) == "table" and event.data.sequence or event.data
      local name = sequence:match("^\27P>|([%w%p ]+)")
      if not name then
        return
      end
      M.terminal, can = name, draws(name)
      if M.on_answer then
        vim.schedule(M.on_answer)
      end
      return true
    end,
  })
  write("\27[>q")
end

---Whether pictures can be drawn. While that is not known (nil), the terminal is asked, and `on_answer` called then.
---@return boolean?
---@return string why
function M.can()
  local images = require("oi.config").get().images
  if images == "off" then
    return false, 'the option images is "off"'
  end
  if not in_a_terminal() then
    return false, "there is no terminal, or more than one"
  end
  if not DRAWS and vim.env.SSH_CONNECTION then
    return false, "over ssh they are drawn from Neovim 0.12 on"
  end
  if images == "kitty" then
    return true, 'the option images is "kitty"'
  end
  if not asked then
    ask()
  end
  return can, "the terminal is " .. (M.terminal or "not known")
end

---The terminal may be another one, or without its pictures.
function M.reset()
  can, asked, M.terminal = nil, false, nil
  queue, live = {}, {}
end

-- Sending ------------------------------------------------------------------------------------------------------------

---@param number integer
---@return integer
local function id_of(number)
  return HIGH * 2 ^ 24 + number
end

---@param keys string
---@param payload? string
---@return string
local function command(keys, payload)
  -- q=2: no answer, which Neovim could take for keys.
  return ("\27_G%s,q=2%s\27\\"):format(keys, payload and ";" .. payload or "")
end

---Write the next piece; what is long must not hold up a key.
local function pump()
  while queue[1] do
    local piece = queue[1]()
    if piece then
      write(piece)
      vim.defer_fn(pump, 1)
      return
    end
    table.remove(queue, 1)
  end
end

---@param pieces fun(): string?
local function send(pieces)
  queue[#queue + 1] = pieces
  if #queue == 1 then
    vim.schedule(pump)
  end
end

---@param text string
local function send_one(text)
  local sent = false
  send(function()
    if not sent then
      sent = true
      return text
    end
  end)
end

---@param number integer
---@param path string
local function send_path(number, path)
  send_one(command(("a=t,f=100,t=f,i=%d"):format(id_of(number)), vim.base64.encode(path)))
end

---@param number integer
---@param png string
---@return fun(): string?
local function transmission(number, png)
  local at = 1
  return function()
    local chunks = {}
    while at <= #png and #chunks < AT_ONCE do
      local keys = at == 1 and ("a=t,f=100,t=d,i=%d,"):format(id_of(number)) or ""
      local payload = vim.base64.encode(png:sub(at, at + CHUNK - 1))
      at = at + CHUNK
      chunks[#chunks + 1] = command(("%sm=%d"):format(keys, at <= #png and 1 or 0), payload)
    end
    return #chunks > 0 and table.concat(chunks) or nil
  end
end

---@param number integer
---@return string
local function group(number)
  return "OiPicture" .. number
end

---@param number integer
local function colour(number)
  vim.api.nvim_set_hl(0, group(number), { fg = number, ctermfg = number })
end

---Have the terminal keep a picture.
---@param png string
---@param path string Where it is.
---@return integer? number nil: it has as many as it can have.
function M.add(png, path)
  for number = FIRST, LAST do
    if not live[number] then
      live[number] = true
      colour(number)
      if DRAWS then
        send(transmission(number, png))
      else
        send_path(number, path)
      end
      return number
    end
  end
end

---Say how many cells a picture has.
---@param number integer
---@param columns integer
---@param rows integer
function M.place(number, columns, rows)
  send_one(command(("a=p,U=1,i=%d,p=1,c=%d,r=%d"):format(id_of(number), columns, rows)))
end

---@param number integer
---@return string
local function deletion(number)
  return command(("a=d,d=I,i=%d"):format(id_of(number)))
end

---@param number integer
function M.remove(number)
  if live[number] then
    live[number] = nil
    send_one(deletion(number))
  end
end

---Neovim ends. Nothing is asked any more: the answer would be the shell's.
function M.leave()
  for number in vim.spairs(live) do
    M.remove(number)
  end
  for _, pieces in ipairs(queue) do
    for piece in pieces do
      write(piece)
    end
  end
  queue, can, asked = {}, false, true
end

---A colour scheme clears all groups.
function M.colour_again()
  for number in pairs(live) do
    colour(number)
  end
end

-- Cells --------------------------------------------------------------------------------------------------------------

local marks = {} ---@type string[]
for first, last in MARKS:gmatch("(%x+)%-?(%x*)") do
  for code = tonumber(first, 16), tonumber(last ~= "" and last or first, 16) do
    marks[#marks + 1] = vim.fn.nr2char(code)
  end
end

---The cells of a picture, as virtual lines. Each says which it is: any of them may be covered.
---@param number integer
---@param columns integer
---@param rows integer
---@return [string, string][][]
function M.cells(number, columns, rows)
  local lines = {}
  for row = 1, rows do
    local cells = {}
    for column = 1, columns do
      cells[column] = PLACEHOLDER .. marks[row] .. marks[column] .. marks[HIGH + 1]
    end
    lines[row] = { { table.concat(cells), group(number) } }
  end
  return lines
end

local ioctl ---@type (fun(): integer?, integer?)?

---@return fun(): integer?, integer?
local function window_size()
  local ok, ffi = pcall(require, "ffi")
  if not ok or jit.os == "Windows" then
    return function() end
  end
  ffi.cdef([[
    struct oi_winsize { unsigned short rows, columns, width, height; };
    int ioctl(int, unsigned long, ...);
  ]])
  local request = jit.os == "Linux" and 0x5413 or 0x40087468 -- TIOCGWINSZ
  local size = ffi.new("struct oi_winsize[1]")
  return function()
    -- Of Neovim's descriptors this one alone is still the terminal's.
    if ffi.C.ioctl(2, request, size) == 0 and size[0].width > 0 and size[0].columns > 0 and size[0].rows > 0 then
      return size[0].width / size[0].columns, size[0].height / size[0].rows
    end
  end
end

---@return number width Pixels of a cell; a guess, where the terminal does not tell.
---@return number height
function M.cell()
  ioctl = ioctl or window_size()
  local width, height = ioctl()
  if width and height and width >= 1 and height >= 1 then
    return width, height
  end
  return 10, 20
end

return M

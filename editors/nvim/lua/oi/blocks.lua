-- What is shown at the blocks of a chat, and what is done with them.
local client = require("oi.client")
local config = require("oi.config")
local fences = require("oi.fences")

local M = {}

local SHOWN = vim.api.nvim_create_namespace("oi.blocks")
local LINES = vim.api.nvim_create_namespace("oi.lines")

---@class oi.Block
---@field now oi.BlockState
---@field code? string The code as the model wrote it.
---@field edited boolean
---@field mark? integer
---@field drawn boolean Whether its place was found.

local HIGHLIGHTS = {
  proposed = "OiProposed",
  running = "OiRunning",
  done = "OiDone",
  failed = "OiFailed",
  stopped = "OiStopped",
  rejected = "OiRejected",
}

---@param seconds? number
---@return string
local function time(seconds)
  return seconds and (seconds < 10 and (" %.1f s"):format(seconds) or (" %d s"):format(seconds)) or ""
end

---@param block oi.Block
---@return [string, string][]
local function words(block)
  local now = block.now
  local text = now.state .. time(now.seconds)
  if now.state == "running" and now.line then
    text = ("running line %d"):format(now.line)
  end
  local chunks = { { " ● " .. text, HIGHLIGHTS[now.state] } }
  if block.edited then
    chunks[#chunks + 1] = { " · edited", "OiEdited" }
  end
  local keys = config.get().keys
  if now.state == "proposed" and keys.run and keys.reject then
    local hint = (" · %s runs, %s rejects"):format(config.shown(keys.run), config.shown(keys.reject))
    chunks[#chunks + 1] = { hint, "OiHint" }
  end
  if now.changeId then
    chunks[#chunks + 1] = { " · changed files", "OiHint" }
  end
  return chunks
end

---@param bufnr integer
---@param id string
---@param block oi.Block
---@param fence oi.Fence
local function mark(bufnr, id, block, fence)
  block.mark = vim.api.nvim_buf_set_extmark(bufnr, SHOWN, fence.open, 0, {
    id = block.mark,
    virt_text = words(block),
    virt_text_pos = "eol",
    hl_mode = "combine",
  })
  vim.api.nvim_buf_clear_namespace(bufnr, LINES, fence.open, (fence.close or fence.open) + 1)
  local line = block.now.state == "running" and block.now.line
  if line and fence.open + line < (fence.close or 0) then
    vim.api.nvim_buf_set_extmark(bufnr, LINES, fence.open + line, 0, { line_hl_group = "OiLine" })
  end
  local last = fences.last(bufnr, id) or fence
  if last ~= fence then
    vim.api.nvim_buf_clear_namespace(bufnr, LINES, last.open, (last.close or last.open) + 1)
  end
  if block.now.unended then
    local below = {}
    for _, each in ipairs(vim.split(block.now.unended, "\n")) do
      below[#below + 1] = { { each, "OiProgress" } }
    end
    vim.api.nvim_buf_set_extmark(bufnr, LINES, last.close or last.open, 0, { virt_lines = below })
  end
end

---Fold output that is long, in all windows that show it, but where the cursor is in it.
---@param chat oi.Chat
---@param id string
local function fold(chat, id)
  local most = config.get().fold_output
  for _, fence in ipairs(most > 0 and fences.of(chat.bufnr) or {}) do
    local length = (fence.close or 0) - fence.open - 1
    if fence.id == id and fence.word == "output" and length > most then
      for _, window in ipairs(vim.fn.win_findbuf(chat.bufnr)) do
        local row = vim.api.nvim_win_get_cursor(window)[1] - 1
        if vim.wo[window].foldmethod == "manual" and not (row >= fence.open and row <= fence.close) then
          vim.api.nvim_win_call(window, function()
            if vim.fn.foldlevel(fence.open + 2) == 0 then
              vim.cmd(("silent! %d,%dfold"):format(fence.open + 2, fence.close))
            end
          end)
        end
      end
    end
  end
end

---@param chat oi.Chat
---@param id string
local function draw(chat, id)
  local block = chat.blocks[id]
  local fence = fences.code(chat.bufnr, id)
  block.drawn = fence ~= nil
  if fence then
    mark(chat.bufnr, id, block, fence)
  end
end

---Take in what is told of blocks.
---@param chat oi.Chat
---@param states oi.BlockState[]
function M.take(chat, states)
  for _, now in ipairs(states) do
    local block = chat.blocks[now.block] or { edited = false, drawn = false }
    local before = block.now
    if now.state == "proposed" and now.code then
      block.code, block.edited = now.code, false
    end
    block.now = now
    chat.blocks[now.block] = block
    draw(chat, now.block)
    if before and before.state == "running" and now.state ~= "running" then
      fold(chat, now.block)
    end
    client.emit("OiBlock", { buf = chat.bufnr, block = now.block, state = now.state })
  end
end

---The text was changed: look again for what was not there, and whether proposed code is as it was.
---@param chat oi.Chat
function M.look(chat)
  for id, block in pairs(chat.blocks) do
    local draws = not block.drawn
    if block.now.state == "proposed" and block.code then
      local fence = fences.code(chat.bufnr, id)
      local edited = fence ~= nil and fences.text(chat.bufnr, fence) ~= block.code:gsub("\n$", "")
      draws = draws or edited ~= block.edited
      block.edited = edited
    end
    if draws then
      draw(chat, id)
    end
  end
end

---The server is gone, and what it ran with it.
---@param chat oi.Chat
function M.ended(chat)
  for id, block in pairs(chat.blocks) do
    if block.now.state == "running" or block.now.state == "proposed" then
      block.now = { block = id, state = "stopped" }
      draw(chat, id)
    end
  end
end

---The block at the cursor, or the one that waits where there is none.
---@param chat oi.Chat
---@return string? block Its id, or its line.
function M.at_cursor(chat)
  if vim.api.nvim_get_current_buf() == chat.bufnr then
    local row = vim.api.nvim_win_get_cursor(0)[1] - 1
    local fence = fences.at(chat.bufnr, row)
    if fence then
      local id = fence.id ~= "-" and fence.id or nil
      return id or tostring(fence.open + 1)
    end
  end
  return M.waiting(chat)
end

---@param chat oi.Chat
---@return string?
function M.waiting(chat)
  for id, block in pairs(chat.blocks) do
    if block.now.state == "proposed" then
      return id
    end
  end
end

---Go to the next block of code, or the one before.
---@param chat oi.Chat
---@param step 1|-1
function M.jump(chat, step)
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  local found = vim.tbl_filter(fences.is_code, fences.of(chat.bufnr))
  local first, last = step == 1 and 1 or #found, step == 1 and #found or 1
  for at = first, last, step do
    local target = found[at].open
    if (step == 1 and target > row) or (step == -1 and target < row) then
      vim.cmd("normal! m'")
      vim.api.nvim_win_set_cursor(0, { target + 1, 0 })
      return
    end
  end
end

---Show how a block differs from what the model wrote.
---@param chat oi.Chat
function M.diff(chat)
  local id = M.at_cursor(chat)
  local block = id and chat.blocks[id]
  local fence = id and fences.code(chat.bufnr, id)
  if not (block and block.code and fence) then
    client.say("No code of the model's is known for this block.")
    return
  end
  local old, new = block.code:gsub("\n$", "") .. "\n", fences.text(chat.bufnr, fence) .. "\n"
  if old == new then
    client.say("This block is as the model wrote it.")
    return
  end
  local text = vim.diff(old, new, { ctxlen = 3 }) --[[@as string]]
  require("oi.float").open(vim.split(vim.trim(text), "\n"), { filetype = "diff", title = "edited" })
end

return M

-- The fenced blocks of a chat and its pictures, found anew only from where the text was changed.
local M = {}

---@class oi.Fence
---@field open integer Row of the first line, counted from 0.
---@field close? integer Row of the last line; nil: it is missing.
---@field word string What the info string begins with: a language, `output`, `input`, ….
---@field id? string The `oi=` of it.

---@class oi.Link
---@field row integer
---@field address string

---@class oi.Fences
---@field found oi.Fence[]
---@field pictures oi.Link[]
---@field changed integer The first row that was changed since.

local ALL_KNOWN = math.huge
local OF_THE_DOCUMENT = {
  output = true,
  question = true,
  input = true,
  note = true,
  reasoning = true,
  review = true,
  error = true,
  file = true,
  audio = true,
  message = true,
  undo = true,
  reset = true,
}

local PICTURE = "^!%[[^%]]*%]%((%S+)%) <!%-%- oi:%w+%.image"

local caches = {} ---@type table<integer, oi.Fences>

---@param bufnr integer
---@return oi.Fences
local function cache_of(bufnr)
  if caches[bufnr] then
    return caches[bufnr]
  end
  local cache = { found = {}, pictures = {}, changed = 0 } ---@type oi.Fences
  caches[bufnr] = cache
  vim.api.nvim_buf_attach(bufnr, false, {
    on_lines = function(_, _, _, first)
      cache.changed = math.min(cache.changed, first)
    end,
    on_reload = function()
      cache.changed = 0
    end,
    on_detach = function()
      caches[bufnr] = nil
    end,
  })
  return cache
end

---@param row integer
---@param info string
---@return oi.Fence
local function opened(row, info)
  local word = info:match("^%s*(%S+)") or ""
  return { open = row, word = word:match("^oi=") and "" or word, id = info:match("oi=(%S+)") }
end

---All blocks, in order. Those without an id are part of the text.
---@param bufnr integer
---@return oi.Fence[]
function M.of(bufnr)
  local cache = cache_of(bufnr)
  local found = cache.found
  if cache.changed == ALL_KNOWN then
    return found
  end
  while #found > 0 and (not found[#found].close or found[#found].close >= cache.changed) do
    found[#found] = nil
  end
  local first = #found > 0 and found[#found].close + 1 or 0
  local pictures = cache.pictures
  while #pictures > 0 and pictures[#pictures].row >= first do
    pictures[#pictures] = nil
  end
  local fence, ticks ---@type oi.Fence?, string?
  for at, line in ipairs(vim.api.nvim_buf_get_lines(bufnr, first, -1, false)) do
    local run, info = line:match("^ ? ? ?(```+)([^`]*)$")
    if fence and run and #run >= #ticks and not info:find("%S") then
      fence.close = first + at - 1
      fence = nil
    elseif not fence and run then
      fence, ticks = opened(first + at - 1, info), run
      found[#found + 1] = fence
    elseif not fence then
      local address = line:match(PICTURE)
      pictures[#pictures + 1] = address and { row = first + at - 1, address = address }
    end
  end
  cache.changed = ALL_KNOWN
  return found
end

---The lines that are a picture of the conversation, in order.
---@param bufnr integer
---@return oi.Link[]
function M.pictures(bufnr)
  M.of(bufnr)
  return cache_of(bufnr).pictures
end

---@param fence oi.Fence
---@return boolean
function M.is_code(fence)
  return fence.id ~= nil and fence.id ~= "-" and not OF_THE_DOCUMENT[fence.word]
end

---The block of code of that id: the first, of which others are copies; edits of it come behind.
---@param bufnr integer
---@param id string
---@return oi.Fence?
function M.code(bufnr, id)
  local found = M.of(bufnr)
  for at = 1, #found do
    if found[at].id == id and M.is_code(found[at]) then
      return found[at]
    end
  end
end

---The last block of that id and kind.
---@param bufnr integer
---@param id string
---@param word? string
---@return oi.Fence?
function M.last(bufnr, id, word)
  local found = M.of(bufnr)
  for at = #found, 1, -1 do
    if found[at].id == id and (not word or found[at].word == word) then
      return found[at]
    end
  end
end

---@param bufnr integer
---@param row integer
---@return oi.Fence?
function M.at(bufnr, row)
  for _, fence in ipairs(M.of(bufnr)) do
    if fence.open <= row and (fence.close or row) >= row then
      return fence
    end
  end
end

---What stands between the fences.
---@param bufnr integer
---@param fence oi.Fence
---@return string
function M.text(bufnr, fence)
  local lines = vim.api.nvim_buf_get_lines(bufnr, fence.open + 1, fence.close or -1, false)
  return table.concat(lines, "\n")
end

return M

-- The keys that are set in chats, and in files while an edit waits there. None is set anywhere else.
local config = require("oi.config")

local M = {}

---@param bufnr integer
---@param modes string|string[]
---@param key string|false
---@param act fun()|string
---@param desc string
local function set(bufnr, modes, key, act, desc)
  if key then
    vim.keymap.set(modes, key, act, { buffer = bufnr, desc = desc })
  end
end

---What the place at the cursor suggests: answer a question, or send what is written last. It never runs code.
---@param chat oi.Chat
local function enter(chat)
  local fences = require("oi.fences")
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  local fence = fences.at(chat.bufnr, row)
  local question = chat.state and chat.state.question
  if question and fence and fence.id == question.block and fence.word == "input" then
    require("oi.chat").answer(chat)
    return
  end
  local rest = vim.api.nvim_buf_get_lines(chat.bufnr, row, -1, false)
  local above = vim.fn.search("^## ", "bcnW")
  local mine = above > 0 and vim.fn.getline(above):match("^## You") and not (rest[1] or ""):match("^## Assistant")
  for at = 2, #rest do
    mine = mine and not rest[at]:match("^## ")
  end
  if mine then
    require("oi.chat").send(chat)
  else
    vim.cmd("normal! \r")
  end
end

---@param chat oi.Chat
function M.chat(chat)
  local keys, bufnr = config.get().keys, chat.bufnr
  local function command(words)
    return function()
      require("oi.command").run_words(words)
    end
  end
  set(bufnr, "n", keys.run, command({ "run" }), "Run this block")
  set(bufnr, "n", keys.reject, command({ "reject" }), "Do not run this block")
  set(bufnr, "n", keys.diff, command({ "diff" }), "What was edited")
  set(bufnr, "n", keys.scan, command({ "scan" }), "Scan this block")
  set(bufnr, "n", keys.stop, command({ "stop" }), "Stop")
  set(bufnr, "n", keys.changes, command({ "changes" }), "What was changed on disk")
  set(bufnr, "n", keys.image, command({ "image" }), "Show this image")
  set(bufnr, "n", keys.next, function()
    require("oi.blocks").jump(chat, 1)
  end, "Next block")
  set(bufnr, "n", keys.prev, function()
    require("oi.blocks").jump(chat, -1)
  end, "Block before")
  set(bufnr, "n", keys.write, function()
    require("oi.window").show(chat, { enter = true })
  end, "Write a message")
  set(bufnr, "n", keys.enter, function()
    enter(chat)
  end, "Send, or answer")
end

---@return table<string, [string|false, string]> Plug and key of each.
local function hunk_keys()
  local keys = config.get().hunk_keys
  return {
    ["next-hunk"] = { keys.next, "Next hunk" },
    ["prev-hunk"] = { keys.prev, "Hunk before" },
    ["accept-hunk"] = { keys.accept, "Accept this hunk" },
    ["reject-hunk"] = { keys.reject, "Reject this hunk" },
    ["accept-all"] = { keys.accept_all, "Accept all hunks" },
    ["reject-all"] = { keys.reject_all, "Reject all hunks" },
  }
end

---@param bufnr integer
function M.hunks(bufnr)
  if vim.b[bufnr].oi_hunk_keys then
    return
  end
  vim.b[bufnr].oi_hunk_keys = true
  for plug, key in pairs(hunk_keys()) do
    set(bufnr, "n", key[1], ("<Plug>(oi-%s)"):format(plug), key[2])
  end
end

---@param bufnr integer
function M.no_hunks(bufnr)
  if not vim.b[bufnr].oi_hunk_keys then
    return
  end
  vim.b[bufnr].oi_hunk_keys = nil
  for _, key in pairs(hunk_keys()) do
    if key[1] then
      pcall(vim.keymap.del, "n", key[1], { buffer = bufnr })
    end
  end
end

return M

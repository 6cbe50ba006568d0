-- What runs changed on disk: a list, the differences, and the way back.
local client = require("oi.client")

local M = {}

---@class oi.ChangeLine
---@field change string
---@field path? string
---@field hunk? string

---@param changes oi.Changes[]
---@return string[] lines
---@return oi.ChangeLine[] meant What each line stands for.
local function listed(changes)
  local lines, meant = {}, {}
  for at = #changes, 1, -1 do
    local change = changes[at]
    local what = change.reverts and "taken back" or "changed by a run"
    lines[#lines + 1] = ("%s · %s · %d"):format(change.createdAt:sub(12, 19), what, #change.files)
    meant[#meant + 1] = { change = change.changeId }
    for _, file in ipairs(change.files) do
      lines[#lines + 1] = ("  %-8s %s%s"):format(file.kind, file.path, file.why and (" (%s)"):format(file.why) or "")
      meant[#meant + 1] = { change = change.changeId, path = file.path }
    end
  end
  return lines, meant
end

---@param change string
---@param files oi.FileDifference[]
---@return string[] lines
---@return oi.ChangeLine[] meant What each line stands for.
local function difference(change, files)
  local lines, meant = {}, {}
  for _, each in ipairs(files) do
    -- What was added or deleted goes, or comes back, as a whole.
    local parts = each.file.kind == "modified"
    local function add(line, hunk)
      lines[#lines + 1] = line
      meant[#meant + 1] = { change = change, path = each.file.path, hunk = parts and hunk or nil }
    end
    local function add_all(sign, text, hunk)
      for _, line in ipairs(text ~= "" and vim.split((text:gsub("\n$", "")), "\n") or {}) do
        add(sign .. line, hunk)
      end
    end
    add(("--- %s (%s)"):format(each.file.path, each.file.kind))
    if each.why or each.binary then
      add(each.why or "It is no text.")
    end
    for _, hunk in ipairs(each.hunks or {}) do
      add(("@@ line %d @@"):format(hunk.start + 1), hunk.hunkId)
      add_all("-", hunk.old, hunk.hunkId)
      add_all("+", hunk.new, hunk.hunkId)
    end
  end
  return lines, meant
end

---@param chat oi.Chat
---@param meant oi.ChangeLine
---@param done fun()
local function revert(chat, meant, done)
  require("oi.chat").session_command(
    chat,
    "oi.changes.revert",
    { changeId = meant.change, path = meant.path, hunkId = meant.hunk },
    client.or_complain(function(result)
      for _, left in ipairs(result.left or {}) do
        client.say(("%s was left: %s"):format(left.path, left.reason), vim.log.levels.WARN)
      end
      if result.reverted then
        local what = meant.hunk and "The hunk was" or ("%d"):format(#result.reverted.files)
        client.say(what .. " taken back.")
      end
      vim.cmd.checktime()
      done()
    end)
  )
end

---@param meant oi.ChangeLine[]
---@return oi.ChangeLine?
local function here(meant)
  return meant[vim.api.nvim_win_get_cursor(0)[1]]
end

---@param chat oi.Chat
---@param of oi.ChangeLine
---@param done fun() What follows when something of it was taken back.
local function diff(chat, of, done)
  require("oi.chat").session_command(
    chat,
    "oi.changes.diff",
    { changeId = of.change, path = of.path },
    client.or_complain(function(result)
      local lines, meant = difference(of.change, result.files)
      require("oi.float").open(lines, {
        filetype = "diff",
        title = "changes · r takes back the hunk, q closes",
        keys = {
          r = function()
            local part = here(meant)
            if part then
              revert(chat, part, done)
            end
          end,
        },
      })
    end)
  )
end

---@param chat oi.Chat
---@param done fun(changes: oi.Changes[])
local function ask(chat, done)
  require("oi.chat").session_command(
    chat,
    "oi.changes.list",
    {},
    client.or_complain(function(result)
      done(result.changes)
    end)
  )
end

---@param chat oi.Chat
function M.list(chat)
  local float = require("oi.float")
  ask(chat, function(changes)
    if #changes == 0 then
      client.say("No run of this chat changed a file.")
      return
    end
    local lines, meant = listed(changes)
    local _, window ---@type any, integer
    local function refresh()
      ask(chat, function(now)
        if vim.api.nvim_win_is_valid(window) then
          lines, meant = listed(now)
          float.fill(window, lines)
        end
      end)
    end
    _, window = float.open(lines, {
      title = "changes · Enter shows, r takes back, q closes",
      keys = {
        ["<CR>"] = function()
          diff(chat, here(meant), refresh)
        end,
        r = function()
          revert(chat, here(meant), refresh)
        end,
      },
    })
  end)
end

return M

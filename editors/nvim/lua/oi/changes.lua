-- What runs changed on disk: a list, the differences, and the way back.
local client = require("oi.client")

local M = {}

---@class oi.ChangeLine
---@field change string
---@field path? string

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

---@param lines string[]
---@param sign string
---@param text string
local function add(lines, sign, text)
  for _, line in ipairs(text ~= "" and vim.split((text:gsub("\n$", "")), "\n") or {}) do
    lines[#lines + 1] = sign .. line
  end
end

---@param files oi.FileDifference[]
---@return string[]
local function difference(files)
  local lines = {}
  for _, each in ipairs(files) do
    lines[#lines + 1] = ("--- %s (%s)"):format(each.file.path, each.file.kind)
    if each.why or each.binary then
      lines[#lines + 1] = each.why or "It is no text."
    end
    for _, hunk in ipairs(each.hunks or {}) do
      lines[#lines + 1] = ("@@ line %d @@"):format(hunk.start + 1)
      add(lines, "-", hunk.old)
      add(lines, "+", hunk.new)
    end
  end
  return lines
end

---@param chat oi.Chat
---@param meant oi.ChangeLine
function M.diff(chat, meant)
  require("oi.chat").session_command(
    chat,
    "oi.changes.diff",
    { changeId = meant.change, path = meant.path },
    client.or_complain(function(result)
      require("oi.float").open(difference(result.files), { filetype = "diff", title = "changes" })
    end)
  )
end

---@param chat oi.Chat
---@param meant oi.ChangeLine
---@param done fun()
function M.revert(chat, meant, done)
  require("oi.chat").session_command(
    chat,
    "oi.changes.revert",
    { changeId = meant.change, path = meant.path },
    client.or_complain(function(result)
      for _, left in ipairs(result.left or {}) do
        client.say(("%s was left: %s"):format(left.path, left.reason), vim.log.levels.WARN)
      end
      if result.reverted then
        client.say(("%d taken back."):format(#result.reverted.files))
      end
      vim.cmd.checktime()
      done()
    end)
  )
end

---@param chat oi.Chat
function M.list(chat)
  require("oi.chat").session_command(
    chat,
    "oi.changes.list",
    {},
    client.or_complain(function(result)
      if #result.changes == 0 then
        client.say("No run of this chat changed a file.")
        return
      end
      local lines, meant = listed(result.changes)
      local function here()
        return meant[vim.api.nvim_win_get_cursor(0)[1]]
      end
      local shown = {} ---@type integer[]
      shown = {
        require("oi.float").open(lines, {
          title = "changes · Enter shows, r takes back, q closes",
          keys = {
            ["<CR>"] = function()
              M.diff(chat, here())
            end,
            r = function()
              M.revert(chat, here(), function()
                if vim.api.nvim_win_is_valid(shown[2]) then
                  vim.api.nvim_win_close(shown[2], true)
                end
                M.list(chat)
              end)
            end,
          },
        }),
      }
    end)
  )
end

return M

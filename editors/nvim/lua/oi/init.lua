-- Open Interpreter in Neovim. Nothing has to be called; `:help oi`.
local M = {}

---@param options? table<string, any> See `:help oi-options`.
function M.setup(options)
  require("oi.config").set(options)
end

local WORDS = {
  idle = "",
  thinking = "thinking",
  awaiting_approval = "code waits",
  running = "running",
  awaiting_input = "asks",
  stopping = "stopping",
}

---@param chat oi.Chat
---@return string
local function words(chat)
  local state = chat.state
  if not chat.client_id then
    return "the server has ended; the next command starts it"
  end
  if not state then
    return ""
  end
  local parts = { WORDS[state.state] }
  if state.waiting and state.waiting > 0 then
    parts[#parts + 1] = ("%d waiting"):format(state.waiting)
  end
  if state.cost then
    parts[#parts + 1] = ("$%.3f"):format(state.cost)
  end
  return table.concat(
    vim.tbl_filter(function(part)
      return part ~= ""
    end, parts),
    " · "
  )
end

---For a statusline: what goes on in the chat of this tab, or nothing.
---@return string
function M.statusline()
  if not package.loaded["oi.chat"] then
    return ""
  end
  local chat = require("oi.chat").current()
  local said = chat and words(chat) or ""
  return said ~= "" and "oi: " .. said or ""
end

---The bar above a chat.
---@return string
function M.winbar()
  local window = vim.g.statusline_winid or 0
  local ok, bufnr = pcall(vim.api.nvim_win_get_buf, window)
  local chat = ok and require("oi.chat").get(bufnr) or nil
  local said = chat and words(chat) or ""
  return ("%%#OiBar# chat%s%%="):format(said ~= "" and " · " .. said:gsub("%%", "%%%%") or "")
end

return M

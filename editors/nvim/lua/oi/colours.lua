-- The colours of a chat: treesitter's, but in a long chat that is being written where Neovim would parse each piece
-- before it takes a key (0.10).
local M = {}

---Lines from which on Neovim's own syntax colours a chat while it is being written.
local LONG = vim.fn.has("nvim-0.11") == 1 and math.huge or 250

local CALM = { idle = true, awaiting_approval = true, awaiting_input = true }

---@param chat oi.Chat
function M.look(chat)
  local calm = not chat.state or CALM[chat.state.state] ~= nil
  local wanted = calm or vim.api.nvim_buf_line_count(chat.bufnr) < LONG
  if wanted == chat.treesitter then
    return
  end
  chat.treesitter = wanted
  if wanted then
    pcall(vim.treesitter.start, chat.bufnr, "markdown")
  else
    vim.treesitter.stop(chat.bufnr)
  end
end

return M

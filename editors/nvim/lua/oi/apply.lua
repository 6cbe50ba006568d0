-- Edits that the server asks for. Neovim's own way writes messages on the screen where one is refused.
local M = {}

---Where the last edit of the server left each buffer, so that the next one can be of the same undo step.
---@type table<integer, integer>
local left = {}

---@param bufnr integer
---@param edit lsp.TextEdit Columns are bytes.
---@return boolean
local function insert(bufnr, edit)
  local from, to = edit.range.start, edit.range["end"]
  local count = vim.api.nvim_buf_line_count(bufnr)
  if from.line >= count or to.line >= count then
    return false
  end
  local lines = vim.split(edit.newText, "\r?\n")
  vim.api.nvim_buf_set_text(bufnr, from.line, from.character, to.line, to.character, lines)
  return true
end

---@param bufnr integer
---@param edits lsp.TextEdit[]
---@param encoding string
local function write(bufnr, edits, encoding)
  if not (encoding == "utf-8" and #edits == 1 and insert(bufnr, edits[1])) then
    vim.lsp.util.apply_text_edits(edits, bufnr, encoding)
  end
end

---@param bufnr integer
---@param edits lsp.TextEdit[]
---@param encoding string
local function write_chat(bufnr, edits, encoding)
  local chat = require("oi.chat")
  local follow = chat.followers(bufnr)
  local joins = left[bufnr] == vim.api.nvim_buf_get_changedtick(bufnr)
  vim.api.nvim_buf_call(bufnr, function()
    if joins then
      -- Fails after an undo, where a new step is right.
      pcall(vim.cmd.undojoin)
    end
    write(bufnr, edits, encoding)
  end)
  left[bufnr] = vim.api.nvim_buf_get_changedtick(bufnr)
  chat.follow(bufnr, follow)
end

---@param bufnr integer
---@param edits lsp.TextEdit[]
---@param encoding string
local function write_file(bufnr, edits, encoding)
  -- Each hunk is a step of its own: setting this ends the one before.
  vim.bo[bufnr].undolevels = vim.bo[bufnr].undolevels
  write(bufnr, edits, encoding)
  vim.bo[bufnr].undolevels = vim.bo[bufnr].undolevels
end

---`workspace/applyEdit`.
---@param err any
---@param params lsp.ApplyWorkspaceEditParams
---@param ctx lsp.HandlerContext
---@return lsp.ApplyWorkspaceEditResult
function M.apply(err, params, ctx)
  local client = assert(vim.lsp.get_client_by_id(ctx.client_id))
  for _, change in ipairs(params.edit.documentChanges or {}) do
    if not change.textDocument then
      return vim.lsp.handlers["workspace/applyEdit"](err, params, ctx)
    end
    local bufnr = vim.uri_to_bufnr(change.textDocument.uri)
    local version = change.textDocument.version
    local now = vim.lsp.util.buf_versions[bufnr]
    if not vim.api.nvim_buf_is_loaded(bufnr) then
      return { applied = false, failureReason = "It is not open." }
    end
    if version ~= nil and version ~= vim.NIL and now ~= nil and version ~= now then
      return { applied = false, failureReason = ("It is at version %s, not %s."):format(now, version) }
    end
    if not vim.bo[bufnr].modifiable then
      return { applied = false, failureReason = "It is not modifiable." }
    end
    if require("oi.chat").get(bufnr) then
      write_chat(bufnr, change.edits, client.offset_encoding)
    else
      write_file(bufnr, change.edits, client.offset_encoding)
    end
  end
  return { applied = true }
end

---@param bufnr integer
function M.forget(bufnr)
  left[bufnr] = nil
end

return M

-- What came of code that ran in a file, at the ends of its lines.
local client = require("oi.client")

local M = {}

local SHOWN = vim.api.nvim_create_namespace("oi.results")
local due = {} ---@type table<integer, boolean>

---@param hint lsp.InlayHint
---@return string
local function label(hint)
  if type(hint.label) == "string" then
    return hint.label --[[@as string]]
  end
  local parts = {}
  for _, part in
    ipairs(hint.label --[[@as lsp.InlayHintLabelPart[] ]])
  do
    parts[#parts + 1] = part.value
  end
  return table.concat(parts)
end

---@param bufnr integer
---@param hints lsp.InlayHint[]
local function draw(bufnr, hints)
  vim.api.nvim_buf_clear_namespace(bufnr, SHOWN, 0, -1)
  local count = vim.api.nvim_buf_line_count(bufnr)
  for _, hint in ipairs(hints) do
    if hint.position.line < count then
      vim.api.nvim_buf_set_extmark(bufnr, SHOWN, hint.position.line, 0, {
        virt_text = { { "  " .. vim.trim(label(hint)), "OiResult" } },
        virt_text_pos = "eol",
        hl_mode = "combine",
      })
    end
  end
end

---@param connected any
---@param bufnr integer
local function ask(connected, bufnr)
  local params = {
    textDocument = { uri = vim.uri_from_bufnr(bufnr) },
    range = {
      start = { line = 0, character = 0 },
      ["end"] = { line = vim.api.nvim_buf_line_count(bufnr), character = 0 },
    },
  }
  client.request(connected, "textDocument/inlayHint", params, function(err, hints)
    if not err and vim.api.nvim_buf_is_loaded(bufnr) then
      draw(bufnr, hints or {})
    end
  end, bufnr)
end

---`workspace/inlayHint/refresh`: what is shown is otherwise now.
---@param client_id integer
function M.refresh(client_id)
  if due[client_id] then
    return
  end
  due[client_id] = true
  vim.schedule(function()
    due[client_id] = nil
    local connected = vim.lsp.get_client_by_id(client_id)
    for bufnr in pairs(connected and connected.attached_buffers or {}) do
      if vim.api.nvim_buf_is_loaded(bufnr) and not require("oi.chat").get(bufnr) then
        ask(connected, bufnr)
      end
    end
  end)
end

return M

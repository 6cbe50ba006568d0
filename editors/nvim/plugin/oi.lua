-- Only names are made here; what they do is loaded when it is first asked for, and no process is started.
if vim.g.loaded_oi then
  return
end
vim.g.loaded_oi = true

if vim.fn.has("nvim-0.10") == 0 then
  vim.notify("oi: Neovim 0.10 or later is needed.", vim.log.levels.ERROR)
  return
end

vim.api.nvim_create_user_command("Oi", function(given)
  require("oi.command").run(given)
end, {
  nargs = "*",
  range = true,
  complete = function(lead, line, at)
    return require("oi.command").complete(lead, line, at)
  end,
  desc = "Open Interpreter",
})

for name, desc in pairs({
  ["chat"] = "Open the chat",
  ["send"] = "Send what is written",
  ["stop"] = "Stop what goes on",
  ["run"] = "Run the block at the cursor, or this line or selection",
  ["ask"] = "Ask about this line or selection",
  ["edit"] = "Have the model edit this line or selection",
  ["reject"] = "Do not run the block at the cursor",
  ["diff"] = "What was edited in the block at the cursor",
  ["allow"] = "Have the sandbox allow what it stopped here",
  ["changes"] = "What runs changed on disk",
  ["answer"] = "Answer the waiting program",
  ["image"] = "Show the image at the cursor",
  ["next-block"] = "Go to the next block",
  ["prev-block"] = "Go to the block before",
  ["next-hunk"] = "Go to the next hunk of an edit",
  ["prev-hunk"] = "Go to the hunk before",
  ["accept-hunk"] = "Accept the hunk at the cursor",
  ["reject-hunk"] = "Reject the hunk at the cursor",
  ["accept-all"] = "Accept all hunks",
  ["reject-all"] = "Reject all hunks",
}) do
  vim.keymap.set({ "n", "x" }, ("<Plug>(oi-%s)"):format(name), function()
    require("oi.command").plug(name)
  end, { desc = desc })
end

local group = vim.api.nvim_create_augroup("oi", {})
vim.api.nvim_create_autocmd({ "BufReadPost", "BufNewFile" }, {
  group = group,
  pattern = "*.oi.md",
  callback = function(event)
    require("oi.chat").adopt(event.buf)
  end,
  desc = "A chat document",
})
vim.api.nvim_create_autocmd("SessionLoadPost", {
  group = group,
  callback = function()
    for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
      local own = vim.api.nvim_buf_get_name(bufnr):match("^oi%-%a+:///")
      if own and vim.bo[bufnr].buftype == "" then
        vim.api.nvim_buf_delete(bufnr, { force = true })
      end
    end
  end,
  desc = "Of a chat that is no file, a session has the window alone: :Oi history has the conversation",
})

for name, link in pairs({
  OiProposed = "DiagnosticWarn",
  OiEdited = "DiagnosticInfo",
  OiRunning = "DiagnosticInfo",
  OiDone = "DiagnosticOk",
  OiFailed = "DiagnosticError",
  OiStopped = "DiagnosticHint",
  OiRejected = "Comment",
  OiHint = "Comment",
  OiProgress = "Comment",
  OiQuestion = "Question",
  OiResult = "Comment",
  OiResultError = "DiagnosticError",
  OiOld = "DiffDelete",
  OiNew = "DiffAdd",
  OiOldWord = "DiffText",
  OiNewWord = "DiffText",
  OiLine = "CursorLine",
  OiMark = "NonText",
  OiBar = "StatusLineNC",
}) do
  vim.api.nvim_set_hl(0, name, { link = link, default = true })
end

-- For vim.lsp.enable("oi"), in Neovim 0.11 and later.
local client = require("oi.client")

local config = client.config()
config.root_dir = function(bufnr, on_dir)
  -- All buffers without a name would be one document.
  if vim.api.nvim_buf_get_name(bufnr) ~= "" then
    on_dir(client.root(bufnr))
  end
end
return config

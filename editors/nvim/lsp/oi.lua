-- For vim.lsp.enable("oi"), in Neovim 0.11 and later.
return require("oi.client").config()

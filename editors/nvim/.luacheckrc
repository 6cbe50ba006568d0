std = "luajit"
read_globals = { "vim" }
-- Options are set by fields of these.
globals = { "vim.g", "vim.b", "vim.w", "vim.t", "vim.o", "vim.bo", "vim.wo" }
max_line_length = 120
exclude_files = { "lua/oi/protocol.lua" }

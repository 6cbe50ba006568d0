-- `:checkhealth oi`
local config = require("oi.config")
local protocol = require("oi.protocol")

local M = {}

local TOOL = { timeout = 30000, text = true }

---@param arguments string[]
---@return string? output
local function ask(arguments)
  local cmd = config.get().cmd[1]
  local command = vim.list_extend({ cmd }, arguments)
  local ok, process = pcall(vim.system, command, TOOL)
  if not ok then
    return nil
  end
  local result = process:wait()
  return result.code == 0 and result.stdout or nil
end

local function check_options()
  vim.health.start("oi: options")
  local problems = config.get() and config.problems
  for _, problem in ipairs(problems) do
    vim.health.warn(problem, { "See :help oi-options." })
  end
  if #problems == 0 then
    vim.health.ok("All options are known.")
  end
end

---@return boolean
local function check_server()
  vim.health.start("oi: server")
  local cmd = config.get().cmd[1]
  if vim.fn.executable(cmd) == 0 then
    vim.health.error(("%s is not on the PATH."):format(cmd), { "Install oi-lsp, or set `cmd`: :help oi-install" })
    return false
  end
  local version = ask({ "--version" })
  if not version then
    vim.health.error(("%s does not start."):format(vim.fn.exepath(cmd)), { "Run it in a terminal: oi-lsp --version" })
    return false
  end
  vim.health.ok(("%s (%s)"):format(vim.trim(version), vim.fn.exepath(cmd)))
  local running = vim.lsp.get_clients({ name = require("oi.client").NAME })
  for _, client in ipairs(running) do
    local info = client.server_info
    local theirs = info and info.version
    if theirs and not version:find(theirs, 1, true) then
      vim.health.warn(("The server that runs is %s."):format(theirs), { "Restart Neovim." })
    end
  end
  vim.health.info(("%d running; protocol version %d"):format(#running, protocol.version))
  return true
end

local function check_machine()
  vim.health.start("oi: this machine")
  local found = ask({ "doctor" })
  if not found then
    vim.health.warn("oi-lsp doctor failed.", { "Run it in a terminal." })
    return
  end
  for line in found:gmatch("[^\n]+") do
    if line:match("^%S") then
      vim.health.info(line)
    elseif line:match("^%s+found") then
      vim.health.ok(vim.trim(line))
    elseif line:match("^%s+missing") then
      vim.health.info(vim.trim(line))
    else
      vim.health.info(vim.trim(line))
    end
  end
end

local function check_images()
  local graphics = require("oi.graphics")
  if graphics.can() == nil then
    vim.wait(1000, function()
      return graphics.can() ~= nil
    end, 10)
  end
  local can, why = graphics.can()
  if can then
    vim.health.ok(("Images are drawn in the chat: %s."):format(why))
  else
    vim.health.info(("Images are links, which the system opens: %s. See :help oi-images."):format(why))
  end
end

local function check_editor()
  vim.health.start("oi: editor")
  if vim.fn.has("nvim-0.10") == 1 then
    vim.health.ok("Neovim " .. tostring(vim.version()))
  else
    vim.health.error("Neovim 0.10 or later is needed.")
  end
  if pcall(vim.treesitter.language.inspect, "markdown") then
    vim.health.ok("The Markdown parser is there.")
  else
    vim.health.warn("There is no treesitter parser for Markdown: chats have plain colours.")
  end
  check_images()
end

function M.check()
  check_editor()
  check_options()
  if check_server() then
    check_machine()
  end
end

return M

-- The connection with the server, which is started when something is first asked of it.
local config = require("oi.config")
local protocol = require("oi.protocol")

local M = {}

M.NAME = "oi"

---@alias oi.Answered fun(result: any, problem: string?)

---What fits on the line that Neovim has for messages: after more it would wait for Enter, and what streams in with it.
---@param said string
---@return string
local function fitting(said)
  if not said:find("\n") and vim.fn.strdisplaywidth(said) <= vim.v.echospace then
    return said
  end
  require("vim.lsp.log").warn(said)
  local rest = " … :Oi log"
  local first = said:match("^[^\n]*")
  return vim.fn.printf(("%%.%dS"):format(math.max(10, vim.v.echospace - vim.fn.strdisplaywidth(rest))), first) .. rest
end

---Say something soon: an error that is told within a command is one of that command's.
---@param text string
---@param level? integer
function M.say(text, level)
  vim.schedule(function()
    local said = "oi: " .. text
    local source = debug.getinfo(vim.notify, "S").source
    local is_neovims_own = source:match("^@vim/") or not source:match("^@")
    vim.notify(is_neovims_own and fitting(said) or said, level or vim.log.levels.INFO)
  end)
end

---@param text string
function M.complain(text)
  M.say(text, vim.log.levels.ERROR)
end

---Tell others, by the autocommand `User {name}`.
---@param name string
---@param data table<string, any>
function M.emit(name, data)
  vim.api.nvim_exec_autocmds("User", { pattern = name, modeline = false, data = data })
end

---@param problem any An error of LSP's.
---@return string
local function words(problem)
  local remedy = type(problem.data) == "table" and problem.data.remedy
  return remedy and ("%s %s"):format(problem.message, remedy) or tostring(problem.message)
end

---What waits until a client is initialized: Neovim would send it before.
---@type table<integer, fun()[]>
local waiting = {}

---@param id integer
local function ready(id)
  local acts = waiting[id] or {}
  waiting[id] = nil
  for _, act in ipairs(acts) do
    act()
  end
end

---@return table<string, function>
local function handlers()
  return {
    ["oi/document"] = function(_, state)
      require("oi.chat").on_state(state)
    end,
    ["oi/edit"] = function(_, state)
      require("oi.edits").on_state(state)
    end,
    ["workspace/applyEdit"] = function(err, params, ctx)
      return require("oi.apply").apply(err, params, ctx)
    end,
    ["window/showDocument"] = function(err, params, ctx)
      return require("oi.chat").show_document(err, params, ctx)
    end,
    ["workspace/inlayHint/refresh"] = function(_, _, ctx)
      require("oi.results").refresh(ctx.client_id)
      return vim.NIL
    end,
    ["window/showMessage"] = function(_, params)
      local levels = { vim.log.levels.ERROR, vim.log.levels.WARN, vim.log.levels.INFO, vim.log.levels.DEBUG }
      M.say(params.message, levels[params.type] or vim.log.levels.INFO)
      return vim.NIL
    end,
  }
end

---What starts the server: for `vim.lsp.start` and `vim.lsp.enable`.
---@return table<string, any>
function M.config()
  local options = config.get()
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  -- Columns are bytes then, as everywhere in Neovim.
  capabilities.general = vim.tbl_extend("force", capabilities.general or {}, { positionEncodings = { "utf-8" } })
  capabilities.workspace.inlayHint = { refreshSupport = true }
  return {
    name = M.NAME,
    cmd = options.cmd,
    filetypes = options.filetypes,
    capabilities = capabilities,
    init_options = {
      oi = { protocolVersion = protocol.version, shows = "documents" },
      settings = next(options.settings) and options.settings or vim.empty_dict(),
    },
    flags = { debounce_text_changes = 0, exit_timeout = 3000 },
    handlers = handlers(),
    on_init = function(client)
      -- What came of runs is drawn by this plugin.
      client.server_capabilities.inlayHintProvider = nil
      -- By then the server has been told of the buffers.
      vim.schedule(function()
        ready(client.id)
      end)
    end,
    on_exit = function(_, _, id)
      vim.schedule(function()
        ready(id)
        require("oi.chat").on_exit(id)
      end)
    end,
  }
end

---@param bufnr integer
---@return string
function M.root(bufnr)
  local name = vim.api.nvim_buf_get_name(bufnr)
  local from = (name == "" or name:match("^%a[%w+.-]*:")) and vim.fn.getcwd() or name
  return vim.fs.root(from, config.get().root_markers) or vim.fn.getcwd()
end

---@param client any
---@return boolean
local function alive(client)
  if vim.fn.has("nvim-0.11") == 1 then
    return not client:is_stopped()
  end
  return not client.is_stopped()
end

---Have a client that lives know a buffer.
---@param id? integer
---@param bufnr integer
---@return any? client
function M.join(id, bufnr)
  local found = id and vim.lsp.get_client_by_id(id)
  if not found or not alive(found) then
    return nil
  end
  if not vim.lsp.buf_is_attached(bufnr, found.id) then
    vim.lsp.buf_attach_client(bufnr, found.id)
  end
  return found
end

---The client for a buffer, with that attached: the one that is there, or a new one.
---@param bufnr integer
---@param root? string
---@return any? client `vim.lsp.Client`
function M.attach(bufnr, root)
  local attached = vim.lsp.get_clients({ name = M.NAME, bufnr = bufnr })[1]
  if attached and alive(attached) then
    return attached
  end
  root = root or M.root(bufnr)
  local options = M.config()
  if vim.fn.executable(options.cmd[1]) == 0 then
    M.complain(("%s is not on the PATH. See :help oi-install."):format(options.cmd[1]))
    return nil
  end
  options.root_dir = root
  local id = vim.lsp.start(options, {
    bufnr = bufnr,
    reuse_client = function(client, wanted)
      return client.name == wanted.name and alive(client) and client.config.root_dir == wanted.root_dir
    end,
  })
  return id and vim.lsp.get_client_by_id(id)
end

---@param client any
---@param method string
---@param params table<string, any>
---@param done fun(err: any, result: any)
---@param bufnr? integer
function M.request(client, method, params, done, bufnr)
  if not client.initialized and alive(client) then
    waiting[client.id] = waiting[client.id] or {}
    table.insert(waiting[client.id], function()
      M.request(client, method, params, done, bufnr)
    end)
    return
  end
  local sent ---@type boolean
  if vim.fn.has("nvim-0.11") == 1 then
    sent = client:request(method, params, done, bufnr)
  else
    sent = client.request(method, params, done, bufnr)
  end
  if not sent then
    done({ code = 0, message = "The server has ended." }, nil)
  end
end

---Ask, and wait for the answer, for what Neovim wants at once; nil where none comes within half a second.
---@param client any
---@param method string
---@param params table<string, any>
---@param bufnr integer
---@return any
function M.ask(client, method, params, bufnr)
  if not client.initialized then
    return nil
  end
  local answer ---@type {result: any}?
  if vim.fn.has("nvim-0.11") == 1 then
    answer = client:request_sync(method, params, 500, bufnr)
  else
    answer = client.request_sync(method, params, 500, bufnr)
  end
  return answer and answer.result
end

---Send a command. Without `done`, a refusal is shown.
---@param client any
---@param name string One of `protocol.commands`.
---@param argument table<string, any>
---@param done? oi.Answered
---@param bufnr? integer
function M.command(client, name, argument, done, bufnr)
  assert(protocol.commands[name], name)
  local params = { command = name, arguments = { next(argument) and argument or vim.empty_dict() } }
  M.request(client, "workspace/executeCommand", params, function(err, result)
    local problem = err and words(err) or nil
    if done then
      done(result, problem)
    elseif problem then
      M.complain(problem)
    end
  end, bufnr)
end

---Let `done` handle an answer, or show why there is none.
---@param done fun(result: any)
---@return oi.Answered
function M.or_complain(done)
  return function(result, problem)
    if problem then
      M.complain(problem)
    else
      done(result)
    end
  end
end

return M

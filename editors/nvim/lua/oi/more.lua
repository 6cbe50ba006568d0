-- Subcommands of `:Oi` that are about the whole: history, models, settings, kernels, what is exported and found.
local client = require("oi.client")

local M = {}

M.DESCRIPTIONS = {
  history = "Go on with a stored conversation",
  model = "Choose the model",
  undo = "Take the last request back (files: with what its runs changed)",
  export = "Export the conversation: json, notebook, markdown or script",
  kernel = "interrupt or restart, with a language if you like",
  settings = "Show the settings, or set one",
  log = "Open the log",
  doctor = "What is found on this machine (:checkhealth oi)",
  changes = "What runs changed on disk",
  image = "Show the image at the cursor",
}

---What their first word may be, where not anything.
---@type table<string, string[]>
M.TAKES = {
  export = { "json", "notebook", "markdown", "script" },
  kernel = { "interrupt", "restart" },
  undo = { "files" },
  log = {},
  doctor = {},
  changes = {},
  image = {},
}

---@alias oi.FindChat fun(): oi.Chat?

---A client for what is about no chat.
---@return any?
local function any_client()
  local chat = require("oi.chat").current()
  if chat then
    return require("oi.chat").connect(chat)
  end
  return client.attach(vim.api.nvim_get_current_buf())
end

---Have the person choose; an empty list would be one more thing to close.
---@generic T
---@param items T[]
---@param none string What is said where there is nothing to choose.
---@param options table<string, any> Of `vim.ui.select`.
---@param act fun(item: T)
local function pick(items, none, options, act)
  if #items == 0 then
    client.say(none)
    return
  end
  vim.ui.select(items, options, function(item)
    if item then
      act(item)
    end
  end)
end

---@param words string[]
function M.history(words)
  local connected = any_client()
  if not connected then
    return
  end
  local query = table.concat(words, " ")
  local function choose(stored)
    local none = query == "" and "No conversation is stored." or ("No conversation has %s."):format(query)
    pick(stored, none, {
      prompt = "Conversations",
      kind = "oi.history",
      format_item = function(item)
        local title = item.title ~= "" and item.title or "untitled"
        return ("%s  %s (%d)"):format(item.updatedAt:sub(1, 10), title, item.length)
      end,
    }, function(chosen)
      M.open_stored(chosen.conversationId)
    end)
  end
  if query == "" then
    client.command(
      connected,
      "oi.history.list",
      { limit = 100 },
      client.or_complain(function(result)
        choose(result.conversations)
      end)
    )
  else
    client.command(
      connected,
      "oi.history.search",
      { query = query },
      client.or_complain(function(result)
        choose(vim.tbl_map(function(hit)
          return hit.conversation
        end, result.hits))
      end)
    )
  end
end

---@param conversation string
function M.open_stored(conversation)
  local chats, window = require("oi.chat"), require("oi.window")
  local before = chats.current()
  if before then
    window.hide(before)
  end
  for _, chat in ipairs(chats.all()) do
    if chat.state and chat.state.sessionId == conversation then
      window.show(chat, { enter = true })
      return
    end
  end
  local chat = chats.new(before and before.root or nil)
  window.show(chat, { enter = true })
  chats.command(chat, "oi.document.load", { conversationId = conversation })
end

---@param words string[]
function M.model(words)
  local chat = require("oi.chat").current()
  local connected = any_client()
  if not connected then
    return
  end
  local function choose(model, base)
    if chat and chat.state then
      local argument = { sessionId = chat.state.sessionId, model = model, apiBase = base }
      client.command(
        connected,
        "oi.models.choose",
        argument,
        client.or_complain(function(result)
          client.say(("%s answers. %s"):format(result.model, result.why))
        end)
      )
    else
      client.command(
        connected,
        "oi.settings.set",
        { name = "llm.model", value = model },
        client.or_complain(function()
          client.say(model .. " answers from now on.")
        end)
      )
    end
  end
  if words[1] then
    choose(words[1])
    return
  end
  client.command(
    connected,
    "oi.models.catalog",
    {},
    client.or_complain(function(result)
      pick(result.models, "No provider with a key, nor a server on this machine, lists models: name one.", {
        prompt = "Models",
        kind = "oi.model",
        format_item = function(item)
          local window = item.contextWindow and (" · %dk"):format(item.contextWindow / 1000) or ""
          return item.model .. (item["local"] and " · local" or "") .. window
        end,
      }, function(item)
        choose(item.model, item.apiBase)
      end)
    end)
  )
end

---@param words string[]
---@param find oi.FindChat
function M.undo(words, find)
  local chat = find()
  if chat then
    local argument = { files = words[1] == "files" or nil }
    require("oi.chat").session_command(
      chat,
      "oi.session.undo",
      argument,
      client.or_complain(function(result)
        for _, left in ipairs(result.left or {}) do
          client.say(("%s was left: %s"):format(left.path, left.reason), vim.log.levels.WARN)
        end
        vim.cmd.checktime()
      end)
    )
  end
end

---@param words string[]
---@param find oi.FindChat
function M.export(words, find)
  local chat = find()
  if not chat then
    return
  end
  local format = words[1] or "markdown"
  local path = words[2] and vim.fs.normalize(vim.fn.fnamemodify(words[2], ":p")) or nil
  local argument = { format = format, path = path }
  require("oi.chat").session_command(
    chat,
    "oi.history.export",
    argument,
    client.or_complain(function(result)
      for _, file in ipairs(result.files) do
        if file.path then
          client.say("Written to " .. file.path)
        else
          vim.cmd.tabnew()
          vim.bo.buftype, vim.bo.bufhidden = "nofile", "wipe"
          vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(file.text or "", "\n"))
          vim.bo.filetype = vim.filetype.match({ filename = file.name }) or ""
        end
      end
    end)
  )
end

---@param words string[]
---@param find oi.FindChat
function M.kernel(words, find)
  local chat = find()
  local name = ({ interrupt = "oi.kernel.interrupt", restart = "oi.kernel.restart" })[words[1] or ""]
  if not name then
    client.complain(":Oi kernel interrupt, or :Oi kernel restart")
  elseif chat then
    require("oi.chat").session_command(chat, name, { language = words[2] })
  end
end

---@param text string
---@return any
local function value_of(text)
  local ok, value = pcall(vim.json.decode, text)
  return ok and value or text
end

---@param words string[]
function M.settings(words)
  local connected = any_client()
  if not connected then
    return
  end
  if #words >= 2 then
    local argument = { name = words[1], value = value_of(table.concat(words, " ", 2)) }
    client.command(
      connected,
      "oi.settings.set",
      argument,
      client.or_complain(function(result)
        for _, problem in ipairs(result.problems) do
          client.say(problem, vim.log.levels.WARN)
        end
        client.say(("%s is %s"):format(result.setting.name, vim.json.encode(result.setting.value)))
      end)
    )
    return
  end
  client.command(
    connected,
    "oi.settings.get",
    {},
    client.or_complain(function(result)
      local lines = {}
      for _, each in ipairs(result.values) do
        local shown = each.secret and "(secret)" or each.value == nil and "null" or vim.json.encode(each.value)
        local origin = ""
        if each.origin and each.origin ~= "defaults" then
          origin = ("  # %s %s"):format(each.origin, each.where or "")
        end
        if not words[1] or each.name:find(words[1], 1, true) then
          lines[#lines + 1] = ("%s: %s%s"):format(each.name, shown, origin)
        end
      end
      require("oi.float").open(lines, { filetype = "yaml", title = "settings" })
    end)
  )
end

function M.log()
  local path ---@type string
  if vim.lsp.log and vim.lsp.log.get_filename then
    path = vim.lsp.log.get_filename()
  else
    path = vim.lsp.get_log_path()
  end
  vim.cmd.tabedit(vim.fn.fnameescape(path))
end

function M.doctor()
  vim.cmd.checkhealth("oi")
end

---@param find oi.FindChat
function M.changes(_, find)
  local chat = find()
  if chat then
    require("oi.changes").list(chat)
  end
end

---@param find oi.FindChat
function M.image(_, find)
  local chat = find()
  local address = vim.api.nvim_get_current_line():match("!%[[^%]]*%]%(([^)]+)%)")
  if not chat or not address then
    client.say("There is no image in this line.")
    return
  end
  local _, problem = vim.ui.open(require("oi.pictures").path(chat, address))
  if problem then
    client.complain(problem)
  end
end

return M

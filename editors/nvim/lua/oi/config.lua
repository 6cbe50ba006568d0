-- What the person set, over the defaults. Nothing needs to be set.
local M = {}

---@class oi.Keys
---@field run string|false
---@field reject string|false
---@field diff string|false
---@field scan string|false
---@field stop string|false
---@field changes string|false
---@field image string|false
---@field next string|false
---@field prev string|false
---@field write string|false
---@field enter string|false

---@class oi.HunkKeys
---@field next string|false
---@field prev string|false
---@field accept string|false
---@field reject string|false
---@field accept_all string|false
---@field reject_all string|false

---@class oi.InputKeys
---@field send string|false
---@field newline string|false
---@field older string|false
---@field newer string|false

---@class oi.Config
---@field cmd string[] The server.
---@field settings table<string, any> Settings of the person's own, as in a profile.
---@field filetypes string[] For `vim.lsp.enable("oi")`; commands work in every file.
---@field root_markers string[]
---@field layout "right"|"left"|"float"|"tab" Where the chat is shown.
---@field width number Columns of the chat, or a part of the screen (below 1).
---@field input_height integer Lines of the input below the chat; 0: none.
---@field fold_output integer Output longer than this is folded; 0: none is.
---@field images "auto"|"kitty"|"off" Whether images are drawn in chats: where the terminal can, always, or never.
---@field keys oi.Keys In chats.
---@field input_keys oi.InputKeys In the input below a chat.
---@field hunk_keys oi.HunkKeys In a file, while an edit waits there.

---@type oi.Config
M.defaults = {
  cmd = { "oi-lsp", "--stdio" },
  settings = {},
  filetypes = { "markdown", "python", "sh", "bash", "javascript", "typescript", "r", "ruby", "java" },
  root_markers = { ".git", ".oi" },
  layout = "right",
  width = 0.45,
  input_height = 4,
  fold_output = 30,
  images = "auto",
  keys = {
    run = "<localleader>r",
    reject = "<localleader>x",
    diff = "<localleader>d",
    scan = "<localleader>s",
    stop = "<localleader>q",
    changes = "<localleader>c",
    image = "<localleader>i",
    next = "]]",
    prev = "[[",
    write = "<localleader>w",
    enter = "<CR>",
  },
  input_keys = { send = "<CR>", newline = "<C-j>", older = "<Up>", newer = "<Down>" },
  hunk_keys = {
    next = "]h",
    prev = "[h",
    accept = "<localleader>a",
    reject = "<localleader>x",
    accept_all = "<localleader>A",
    reject_all = "<localleader>X",
  },
}

local FREE = { settings = true }

local CHOICES = { layout = { "right", "left", "float", "tab" }, images = { "auto", "kitty", "off" } }

---@param given any
---@param known any
---@param where string
---@param problems string[]
local function check(given, known, where, problems)
  for key, value in pairs(given) do
    local name = where == "" and tostring(key) or ("%s.%s"):format(where, key)
    local default = known[key]
    if default == nil then
      problems[#problems + 1] = ("there is no option %s"):format(name)
      given[key] = nil
    elseif type(value) ~= type(default) and not (value == false and type(default) == "string") then
      problems[#problems + 1] = ("%s must be a %s, not a %s"):format(name, type(default), type(value))
      given[key] = nil
    elseif type(default) == "table" and not vim.islist(default) and not FREE[key] then
      check(value, default, name, problems)
    end
  end
end

local merged ---@type oi.Config?
M.problems = {} ---@type string[]

---Take in options; those that do not exist are left out and reported.
---@param given? table<string, any>
---@return oi.Config
function M.set(given)
  local options = vim.tbl_deep_extend("force", vim.deepcopy(vim.g.oi or {}), vim.deepcopy(given or {}))
  local problems = {} ---@type string[]
  check(options, M.defaults, "", problems)
  for name, words in pairs(CHOICES) do
    if options[name] and not vim.list_contains(words, options[name]) then
      problems[#problems + 1] = ('%s must be one of "%s"'):format(name, table.concat(words, '", "'))
      options[name] = nil
    end
  end
  M.problems = problems
  merged = vim.tbl_deep_extend("force", M.defaults, options)
  if #problems > 0 then
    vim.notify("oi: " .. table.concat(problems, "; ") .. ". See :help oi-options.", vim.log.levels.WARN)
  end
  return merged
end

---A key as a person reads it.
---@param key string
---@return string
function M.shown(key)
  local leader = vim.g.maplocalleader or "\\"
  return (key:gsub("<[lL]ocal[lL]eader>", leader == " " and "<Space>" or leader))
end

---@return oi.Config
function M.get()
  return merged or M.set()
end

return M

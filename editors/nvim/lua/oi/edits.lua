-- Inline edits: what the model would change in a file, hunk by hunk. Nothing is written before a hunk is accepted.
local client = require("oi.client")

local M = {}

local SHOWN = vim.api.nvim_create_namespace("oi.edits")
local UNDER_WAY = vim.api.nvim_create_namespace("oi.edits.under_way")

---@class oi.Edit
---@field state oi.EditState
---@field client_id integer
---@field bufnr integer
---@field places table<string, integer> The extmark of each hunk that is open.
---@field told boolean Whether how it ended was said.

local edits = {} ---@type table<string, oi.Edit>

---@class oi.AskedEdit
---@field client_id integer
---@field mark integer Where it is said that the model is at it.

local asked = {} ---@type table<string, oi.AskedEdit>

---@param line string
---@return string[]
local function tokens(line)
  local found, at = {}, 1
  while at <= #line do
    local _, last = line:find("^[%w_\128-\255]+", at)
    if not last then
      _, last = line:find("^%s+", at)
    end
    found[#found + 1] = line:sub(at, last or at)
    at = (last or at) + 1
  end
  return found
end

---Which bytes of two lines differ, word by word.
---@param old string
---@param new string
---@return [integer, integer][] old
---@return [integer, integer][] new
function M.words(old, new)
  local sides = { tokens(old), tokens(new) }
  local function joined(side)
    return #side > 0 and table.concat(side, "\n") .. "\n" or ""
  end
  local changed = { {}, {} } ---@type [integer, integer][][]
  local hunks = vim.diff(joined(sides[1]), joined(sides[2]), { result_type = "indices" })
  for _, hunk in
    ipairs(hunks --[[@as integer[][] ]])
  do
    for side = 1, 2 do
      local first, count = hunk[side * 2 - 1], hunk[side * 2]
      if count > 0 then
        local start = #table.concat(sides[side], "", 1, first - 1)
        changed[side][#changed[side] + 1] = { start, start + #table.concat(sides[side], "", first, first + count - 1) }
      end
    end
  end
  return changed[1], changed[2]
end

---@param line string
---@param changed [integer, integer][]
---@return [string, string][]
local function chunks(line, changed)
  local found, at = {}, 0
  for _, piece in ipairs(changed) do
    found[#found + 1] = { line:sub(at + 1, piece[1]), "OiNew" }
    found[#found + 1] = { line:sub(piece[1] + 1, piece[2]), "OiNewWord" }
    at = piece[2]
  end
  found[#found + 1] = { line:sub(at + 1), "OiNew" }
  return vim.tbl_filter(function(chunk)
    return chunk[1] ~= ""
  end, found)
end

---@param text string
---@return string[]
local function lines_of(text)
  if text == "" then
    return {}
  end
  return vim.split((text:gsub("\r?\n$", "")), "\r?\n")
end

---Lines above the first one are seen in a window only when it is told to leave room for them.
---@param bufnr integer
---@param rows integer
local function make_room(bufnr, rows)
  for _, window in ipairs(vim.fn.win_findbuf(bufnr)) do
    vim.api.nvim_win_call(window, function()
      if vim.fn.line("w0") == 1 then
        vim.fn.winrestview({ topfill = rows })
      end
    end)
  end
end

---@param edit oi.Edit
---@param hunk oi.EditHunk
local function draw_hunk(edit, hunk)
  local first = hunk.range.start.line
  local count = vim.api.nvim_buf_line_count(edit.bufnr)
  local old, new = lines_of(hunk.old), lines_of(hunk.new)
  local below = {} ---@type [string, string][][]
  for at, line in ipairs(new) do
    local was, is = {}, {}
    if #old == #new then
      was, is = M.words(old[at], line)
    end
    below[at] = chunks(line, is)
    if #below[at] == 0 then
      below[at] = { { " ", "OiNew" } }
    end
    for _, piece in ipairs(was) do
      if first + at <= count then
        vim.api.nvim_buf_set_extmark(edit.bufnr, SHOWN, first + at - 1, piece[1], {
          end_col = math.min(piece[2], #old[at]),
          hl_group = "OiOldWord",
          priority = 210,
        })
      end
    end
  end
  for at = 1, math.min(#old, count - first) do
    vim.api.nvim_buf_set_extmark(edit.bufnr, SHOWN, first + at - 1, 0, { line_hl_group = "OiOld", priority = 200 })
  end
  local above = #old == 0
  local row = math.min(above and first or first + #old - 1, count - 1)
  edit.places[hunk.id] = vim.api.nvim_buf_set_extmark(edit.bufnr, SHOWN, math.min(first, count - 1), 0, {
    end_row = math.min(first + #old, count),
    strict = false,
  })
  if #below > 0 then
    vim.api.nvim_buf_set_extmark(edit.bufnr, SHOWN, row, 0, {
      virt_lines = below,
      virt_lines_above = above and first < count,
    })
    if above and first == 0 then
      make_room(edit.bufnr, #below)
    end
  end
end

---@param bufnr integer
---@return oi.Edit[]
local function of_buffer(bufnr)
  local found = {}
  for _, edit in pairs(edits) do
    if edit.bufnr == bufnr then
      found[#found + 1] = edit
    end
  end
  return found
end

---@param bufnr integer
local function draw(bufnr)
  vim.api.nvim_buf_clear_namespace(bufnr, SHOWN, 0, -1)
  local open = false
  for _, edit in ipairs(of_buffer(bufnr)) do
    edit.places = {}
    for _, hunk in ipairs(edit.state.hunks) do
      if hunk.state == "proposed" and hunk.range then
        draw_hunk(edit, hunk)
        open = true
      end
    end
    open = open or edit.state.state == "streaming"
  end
  if open then
    require("oi.keys").hunks(bufnr)
  else
    require("oi.keys").no_hunks(bufnr)
  end
end

---@param edit oi.Edit
---@param name string
---@param argument? table<string, any>
local function command(edit, name, argument)
  local connected = vim.lsp.get_client_by_id(edit.client_id)
  if connected then
    argument = vim.tbl_extend("force", { editId = edit.state.editId }, argument or {})
    client.command(connected, name, argument, nil, edit.bufnr)
  end
end

---@param edit oi.Edit
local function tell_end(edit)
  local now = edit.state
  if edit.told or now.state == "streaming" then
    return
  end
  edit.told = true
  if now.state == "failed" then
    client.complain(now.error or "The edit failed.")
  elseif now.comment and now.comment ~= "" then
    client.say(now.comment)
  elseif #now.hunks == 0 then
    client.say("Nothing is to be changed.")
  end
end

---`oi/edit`.
---@param state oi.EditState
function M.on_state(state)
  local edit = edits[state.editId]
  if not edit then
    local bufnr = vim.uri_to_bufnr(state.uri)
    local own = asked[state.editId]
    edit = { client_id = own and own.client_id, bufnr = bufnr, places = {}, told = false, state = state }
    if not edit.client_id then
      local found = vim.lsp.get_clients({ name = client.NAME, bufnr = bufnr })[1]
      edit.client_id = found and found.id
    end
    edits[state.editId] = edit
  end
  edit.state = state
  if state.state ~= "streaming" and asked[state.editId] then
    pcall(vim.api.nvim_buf_del_extmark, edit.bufnr, UNDER_WAY, asked[state.editId].mark)
    asked[state.editId] = nil
  end
  tell_end(edit)
  if #state.hunks == 0 and state.state ~= "streaming" then
    edits[state.editId] = nil
  end
  -- Ranges are for one version; what is older is followed by another.
  local version = vim.lsp.util.buf_versions[edit.bufnr]
  local fits = state.version == nil or version == nil or state.version == version
  if fits and vim.api.nvim_buf_is_loaded(edit.bufnr) then
    draw(edit.bufnr)
  end
  client.emit("OiEdit", { buf = edit.bufnr, edit = state.editId, state = state.state, hunks = #state.hunks })
end

---Ask for an edit of some lines, or of a whole file.
---@param bufnr integer
---@param instruction string
---@param range? lsp.Range
---@param session? string
function M.ask(bufnr, instruction, range, session)
  local connected = client.attach(bufnr)
  if not connected then
    return
  end
  local argument = {
    uri = vim.uri_from_bufnr(bufnr),
    instruction = instruction,
    range = range,
    sessionId = session,
  }
  local mark = vim.api.nvim_buf_set_extmark(bufnr, UNDER_WAY, range and range.start.line or 0, 0, {
    virt_text = { { " ● editing · :Oi stop", "OiRunning" } },
  })
  client.command(connected, "oi.selection.edit", argument, function(result, problem)
    if problem then
      vim.api.nvim_buf_del_extmark(bufnr, UNDER_WAY, mark)
      client.complain(problem)
    else
      asked[result.editId] = { client_id = connected.id, mark = mark }
    end
  end, bufnr)
end

---The hunks that are open in a buffer, in order, with their rows.
---@param bufnr integer
---@return {edit: oi.Edit, id: string, first: integer, last: integer}[]
local function open_hunks(bufnr)
  local found = {}
  for _, edit in ipairs(of_buffer(bufnr)) do
    for id, place in pairs(edit.places) do
      local mark = vim.api.nvim_buf_get_extmark_by_id(bufnr, SHOWN, place, { details = true })
      if mark[1] then
        local last = mark[3] and mark[3].end_row or mark[1]
        found[#found + 1] = { edit = edit, id = id, first = mark[1], last = math.max(mark[1], last - 1) }
      end
    end
  end
  table.sort(found, function(one, other)
    return one.first < other.first
  end)
  return found
end

---@param step 1|-1
function M.jump(step)
  local found = open_hunks(vim.api.nvim_get_current_buf())
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  for at = step == 1 and 1 or #found, step == 1 and #found or 1, step do
    local first = found[at].first
    if (step == 1 and first > row) or (step == -1 and first < row) then
      vim.cmd("normal! m'")
      vim.api.nvim_win_set_cursor(0, { first + 1, 0 })
      return
    end
  end
end

---What was decided is not shown any more, though the server has not said so yet.
---@param edit oi.Edit
---@param id? string Absent: all.
local function decided(edit, id)
  for _, hunk in ipairs(edit.state.hunks) do
    if hunk.state == "proposed" and (not id or hunk.id == id) then
      hunk.state = "pending"
    end
  end
  draw(edit.bufnr)
end

---Accept or reject the hunk at the cursor.
---@param name "oi.edit.accept"|"oi.edit.reject"
function M.decide(name)
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  for _, hunk in ipairs(open_hunks(vim.api.nvim_get_current_buf())) do
    if hunk.first <= row and row <= hunk.last then
      command(hunk.edit, name, { hunkId = hunk.id })
      decided(hunk.edit, hunk.id)
      return
    end
  end
  client.say("There is no hunk at the cursor.")
end

---@param name "oi.edit.accept"|"oi.edit.reject"
function M.decide_all(name)
  local found = of_buffer(vim.api.nvim_get_current_buf())
  for _, edit in ipairs(found) do
    command(edit, name)
    decided(edit)
  end
  if #found == 0 then
    client.say("There is no edit in this buffer.")
  end
end

---Stop the edits of a buffer that are still being written.
---@param bufnr integer
---@return boolean stopped
function M.stop(bufnr)
  local any = false
  for _, edit in ipairs(of_buffer(bufnr)) do
    if edit.state.state == "streaming" then
      any = true
      command(edit, "oi.edit.stop")
    end
  end
  return any
end

---The server is gone, and the edits with it.
---@param client_id integer
function M.ended(client_id)
  for id, own in pairs(asked) do
    if own.client_id == client_id then
      asked[id] = nil
    end
  end
  for id, edit in pairs(edits) do
    if edit.client_id == client_id then
      edits[id] = nil
      if vim.api.nvim_buf_is_loaded(edit.bufnr) then
        vim.api.nvim_buf_clear_namespace(edit.bufnr, UNDER_WAY, 0, -1)
        draw(edit.bufnr)
      end
    end
  end
end

return M

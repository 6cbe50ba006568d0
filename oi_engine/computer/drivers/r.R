# The driver for R, read as a profile before R's own loop begins; it never gives way to that. The protocol is in
# driver.py. Values are printed as R prints them: each expression's, where it is visible.
#
# What the driver uses it finds in the base package alone: a cell may give any name another meaning.
local(envir = new.env(parent = baseenv()), {
  reports <- paste0("/dev/fd/", Sys.getenv("OI_REPORTS"))
  requests <- paste0("/dev/fd/", Sys.getenv("OI_REQUESTS"))
  # Programs that a cell starts, R among them, are not driven.
  Sys.unsetenv(c("OI_REQUESTS", "OI_REPORTS", "OI_TTY", "R_PROFILE_USER", "R_ENVIRON_USER"))
  cell <- "-"
  shown_frames <- 10L

  # The pipes are opened anew each time: closeAllConnections() in a cell closes them, too.
  report <- function(...) {
    pipe <- file(reports, "a", raw = TRUE)
    on.exit(close(pipe))
    cat(..., "\n", file = pipe, sep = "")
  }

  json <- function(text) {
    text <- gsub("\\", "\\\\", enc2utf8(text), fixed = TRUE)
    text <- gsub("\"", "\\\"", text, fixed = TRUE)
    text <- gsub("\t", "\\t", gsub("\n", "\\n", text, fixed = TRUE), fixed = TRUE)
    paste0("\"", gsub("[[:cntrl:]]", "?", text), "\"")
  }

  request <- function() {
    pipe <- fifo(requests, "r", blocking = TRUE)
    on.exit(close(pipe))
    readLines(pipe, 1L)
  }

  replace <- function(name, value) {
    base <- baseenv()
    unlockBinding(name, base)
    assign(name, value, envir = base)
    lockBinding(name, base)
  }

  first_line <- function(call) {
    lines <- deparse(call, nlines = 2L)
    if (length(lines) > 1L) paste(lines[1L], "...") else lines
  }

  place <- function(where) {
    if (is.null(where)) return(NULL)
    paste0(" at ", basename(attr(where, "srcfile")$filename), "#", where[1L])
  }

  # A condition as R says it, which at the top level names no call.
  say <- function(kind, problem) {
    call <- conditionCall(problem)
    head <- if (is.null(call) || identical(call, evaluation)) kind else paste0(kind, " in ", first_line(call), " ")
    paste0(head, ": ", conditionMessage(problem), "\n")
  }

  # An error, then where it was, the innermost call first, as traceback() has it.
  describe <- function(problem, calls, expression, where) {
    known <- Filter(function(call) !is.null(attr(call, "srcref")), calls)
    lines <- vapply(known, function(call) paste0(first_line(call), place(attr(call, "srcref"))), "")
    top <- paste0(first_line(expression), place(where))
    lines <- c(top, lines[lines != top])
    lines <- paste0(seq_along(lines), ": ", lines)
    if (length(lines) > 2L * shown_frames) {
      lines <- c(lines[seq_len(shown_frames)], "...", lines[seq(length(lines) - shown_frames + 1L, length(lines))])
    }
    paste0(say("Error", problem), paste0(rev(lines), "\n", collapse = ""))
  }

  show <- function(value) {
    # In a scope of its own below the person's: methods that a cell has defined are found.
    scope <- new.env(parent = globalenv())
    scope$value <- value
    eval(quote(base::print(value)), scope)
  }

  fail <- function(problem, ...) {
    report("text ", cell, " traceback ", json(describe(problem, ...)))
    invokeRestart("oi_end", paste("error", class(problem)[1L]))
  }

  # R keeps warnings until it is back in its own loop, which it never is.
  warn <- function(problem) {
    if (getOption("warn") != 0L) return(NULL)
    cat(say("Warning", problem), file = stderr())
    invokeRestart("muffleWarning")
  }

  evaluation <- quote(eval(expression, globalenv()))
  evaluate <- function(expression, where) {
    frame <- sys.nframe()
    withCallingHandlers({
      result <- withVisible(eval(expression, globalenv()))
      assign(".Last.value", result$value, envir = baseenv())
      if (result$visible) show(result$value)
    }, error = function(problem) fail(problem, sys.calls()[-seq_len(frame)], expression, where), warning = warn)
  }

  run <- function(path) {
    lines <- readLines(path, encoding = "UTF-8", warn = FALSE)
    source <- srcfilecopy(basename(path), lines, isFile = FALSE)
    code <- tryCatch(parse(text = lines, srcfile = source, keep.source = TRUE), error = function(problem) {
      report("text ", cell, " traceback ", json(paste0("Error: ", conditionMessage(problem), "\n")))
      invokeRestart("oi_end", "error syntax error")
    })
    places <- attr(code, "srcref")
    for (at in seq_along(code)) {
      report("line ", cell, " ", places[[at]][1L])
      allowInterrupts(evaluate(code[[at]], places[[at]]))
    }
    "ok"
  }

  # An interrupt that came after its cell had ended is spent here.
  settle <- function() tryCatch(allowInterrupts(Sys.sleep(0)), interrupt = function(late) NULL)

  serve <- function() {
    repeat {
      words <- request()
      if (length(words) == 0L) really_quit("no", 0L)
      words <- strsplit(words, " ", fixed = TRUE)[[1L]]
      settle()
      cell <<- words[2L]
      # Whatever leaves a cell without having been caught in it, R takes to "abort".
      status <- withRestarts(
        tryCatch(run(paste(words[-(1:2)], collapse = " ")), interrupt = function(now) "error interrupted"),
        oi_end = function(status) status,
        abort = function() "error aborted"
      )
      while (sink.number() > 0L) sink()
      flush(stdout())
      report("done ", cell, " ", status)
    }
  }

  # quit() ends the cell and keeps the process.
  really_quit <- base::quit
  quit <- function(save = "default", status = 0, runLast = TRUE) {
    status <- as.integer(status)
    invokeRestart("oi_end", if (status == 0L) "ok" else paste("error exit status", status))
  }

  # R waits for a line in select(), which cannot be seen from outside: it says so.
  really_readline <- base::readline
  readline <- function(prompt = "") {
    cat(prompt)
    flush(stdout())
    report("input ", cell, " yes")
    on.exit(report("input ", cell, " no"))
    really_readline()
  }

  for (name in c("C.UTF-8", "en_US.UTF-8")) {
    if (!l10n_info()$`UTF-8`) suppressWarnings(Sys.setlocale("LC_CTYPE", name))
  }
  # The default packages, which R attaches after the profiles.
  .OptRequireMethods()
  .First.sys()
  options(keep.source = TRUE)
  unlockBinding(".Last.value", baseenv())
  replace("quit", quit)
  replace("q", quit)
  replace("readline", readline)
  suspendInterrupts({
    report("ready 1 R ", R.version$major, ".", R.version$minor)
    serve()
  })
})

# The driver for Ruby. The protocol is in driver.py. Cells are evaluated on the main thread, in the binding of the top
# level, so that variables and methods live on; values are shown as irb shows them, but for nil.
#
# The driver is an object without a name and leaves none behind.
require 'json'
require 'pp'
require 'ripper'

Class.new do
  def initialize
    # Characters of a value or an error that are shown; of the value of an assignment, which is seldom wanted.
    @longest_text = 100_000
    @longest_assigned = 100
    # Seconds between two looks at the line that runs, and after which an interrupt goes past every rescue.
    @look = 0.05
    @patience = 0.08
    @requests = IO.for_fd(Integer(ENV['OI_REQUESTS']), 'r')
    @reports = IO.for_fd(Integer(ENV['OI_REPORTS']), 'w')
    [@requests, @reports].each { |pipe| pipe.close_on_exec = true }
    IO.for_fd(Integer(ENV['OI_TTY'])).close
    %w[OI_REQUESTS OI_REPORTS OI_TTY].each { |name| ENV.delete(name) }
    $stdout.sync = true
    @pid = Process.pid
    @stopping = Object.new
  end

  def serve
    trap_interrupts
    report("ready 1 ruby #{RUBY_VERSION}")
    while (line = @requests.gets)
      _, @cell, path = line.chomp.split(' ', 3)
      status = run(path)
      exit!(status == 'ok' ? 0 : 1) if Process.pid != @pid # a child that the cell made by fork
      $stdout.flush
      STDOUT.flush
      report("done #{@cell} #{status}")
    end
  end

  private

  def report(line)
    @reports.syswrite("#{line}\n")
  end

  def tell(stream, text)
    text = text.encode('UTF-8', invalid: :replace, undef: :replace).scrub
    text = "#{text[0, @longest_text]}… (#{text.length} characters)\n" if text.length > @longest_text
    report("text #{@cell} #{stream} #{JSON.generate(text)}")
  end

  def run(path)
    code = File.read(path, encoding: 'UTF-8')
    # A cell may have set a trap of its own, and may ask whether it is the program.
    trap_interrupts
    $0 = @name = File.basename(path)
    status = 'error interrupted'
    catch(@stopping) do
      status = watched { evaluate(code) }
    end
    status
  rescue Interrupt
    'error interrupted'
  ensure
    @running = false
  end

  def watched
    watcher = Thread.new { watch(@cell, @name) }
    @interrupted = nil
    @running = true
    yield
  ensure
    @running = false
    watcher.kill
  end

  def evaluate(code)
    value = TOPLEVEL_BINDING.eval(code, @name)
    show(value, code) unless value.nil?
    'ok'
  rescue SystemExit => error
    # `exit` ends the cell and keeps the process.
    error.success? ? 'ok' : "error exit status #{error.status}"
  rescue Interrupt
    'error interrupted'
  rescue Exception => error # whatever it is, it is the cell's
    tell('traceback', describe(error))
    "error #{error.class}"
  end

  def show(value, code)
    text = inspected(value)
    if assignment?(code) && (text.length > @longest_assigned || text.include?("\n"))
      text = "#{text[/.*/][0, @longest_assigned]}…"
    end
    tell('result', "=> #{text.include?("\n") ? "\n" : ''}#{text}\n")
  end

  def inspected(value)
    PP.pp(value, +'', 119).chomp
  rescue StandardError => error
    "(a value that cannot be shown: #{error.class})"
  end

  def assignment?(code)
    last = Ripper.sexp(code)&.dig(1, -1, 0)
    %i[assign opassign massign].include?(last)
  end

  # The error in Ruby's own words, without the frames of the driver.
  def describe(error)
    each = error
    10.times do
      break if each.nil?

      own = each.backtrace&.index { |line| line.start_with?(__FILE__) }
      each.set_backtrace(each.backtrace.take(own)) if own
      each = each.cause
    end
    return "#{error.message}\n" if error.is_a?(SyntaxError) && error.backtrace.to_a.empty?

    "#{error.full_message(highlight: false, order: :top).chomp}\n"
  end

  # The first interrupt is the exception that every program knows. Those that come after it unwind what rescues all.
  def trap_interrupts
    Signal.trap('INT') do
      if @running && Process.pid == @pid
        now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        @interrupted ||= now
        throw(@stopping) if now - @interrupted > @patience
        raise Interrupt if now == @interrupted
      elsif Process.pid != @pid
        exit!(130)
      end
    end
  end

  def watch(cell, name)
    shown = nil
    loop do
      sleep(@look)
      line = Thread.main.backtrace_locations&.find { |place| place.path == name }&.lineno
      report("line #{cell} #{line}") if line && line != shown
      shown = line
    end
  end
end.new.serve

// The driver for Java, on the API of jshell. The protocol is in driver.py. Run as a program of one source file, by
// Java 11 or later.
//
// Snippets run in this very process, so that System.in and System.out are the terminal. The API cuts a cell into
// snippets; lines are counted in the cell. The value of the last one is shown as jshell shows it. A cell that does
// nothing but declare, as a source file does, has its main method called.
//
// Java cannot change its environment: the three numbers stay in it. The descriptors themselves go to no child process.
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import jdk.jshell.DeclarationSnippet;
import jdk.jshell.Diag;
import jdk.jshell.EvalException;
import jdk.jshell.ExpressionSnippet;
import jdk.jshell.JShell;
import jdk.jshell.Snippet;
import jdk.jshell.Snippet.Kind;
import jdk.jshell.Snippet.Status;
import jdk.jshell.Snippet.SubKind;
import jdk.jshell.SnippetEvent;
import jdk.jshell.SourceCodeAnalysis.CompletionInfo;
import jdk.jshell.TypeDeclSnippet;
import jdk.jshell.UnresolvedReferenceException;
import jdk.jshell.VarSnippet;
import jdk.jshell.execution.LocalExecutionControlProvider;
import sun.misc.Signal;

class Driver {
    // What the program jshell imports, too.
    private static final List<String> IMPORTS = List.of("java.io", "java.math", "java.net", "java.nio.file",
            "java.util", "java.util.concurrent", "java.util.function", "java.util.regex", "java.util.stream");
    private static final Pattern MAIN =
            Pattern.compile("\\bpublic\\s+static\\s+void\\s+main\\s*\\(\\s*(final\\s+)?String\\b");
    private static final Pattern PACKAGE = Pattern.compile("\\A\\s*package\\s+[\\w.]+\\s*;");
    private static final Pattern BLANK = Pattern.compile("(?:\\s+|//[^\\n]*|/\\*(?s:.*?)\\*/)+");
    // Characters of a value or an error that are shown; frames of a stack and causes of an exception.
    private static final int LONGEST_TEXT = 100_000;
    private static final int FRAMES = 30;
    private static final int CAUSES = 10;

    private final OutputStream reports;
    private final InputStream requests;
    private final Input input = new Input(System.in);
    private final JShell shell;
    // Where each snippet stands, by its id: the cell's name, and how many lines are above it there.
    private final Map<String, Place> places = new HashMap<>();
    private int values;
    // The running cell's id; null between cells.
    private volatile String cell;
    private volatile boolean stopped;

    private static final class Place {
        final String name;
        final int above;

        Place(String name, int above) {
            this.name = name;
            this.above = above;
        }

        String line(int line) {
            return name + ":" + (above + line);
        }
    }

    public static void main(String[] given) throws Exception {
        new Driver().serve();
    }

    private Driver() throws IOException {
        requests = Files.newInputStream(pipe("OI_REQUESTS"));
        reports = Files.newOutputStream(pipe("OI_REPORTS"));
        // The request says what the signal is for. Were the signal ignored, it would be for child processes, too.
        Signal.handle(new Signal("INT"), signal -> { });
        System.setIn(input);
        shell = JShell.builder()
                .executionEngine(new LocalExecutionControlProvider(), Map.of())
                .tempVariableNameGenerator(() -> "$" + ++values)
                .build();
        for (String name : IMPORTS) {
            shell.eval("import " + name + ".*;");
        }
    }

    private static Path pipe(String name) {
        return Path.of("/dev/fd/" + System.getenv(name));
    }

    // Requests are read on a thread of their own, so that they arrive while a cell runs.
    private void serve() throws IOException, InterruptedException {
        BlockingQueue<String[]> runs = new LinkedBlockingQueue<>();
        Thread reader = new Thread(() -> read(runs), "requests");
        reader.setDaemon(true);
        reader.start();
        report("ready 1 java " + System.getProperty("java.version"));
        while (true) {
            String[] words = runs.take();
            Path path = Path.of(words[2]);
            stopped = false;
            input.begin();
            cell = words[1];
            String status;
            try {
                status = run(path.getFileName().toString(), Files.readString(path));
            } catch (IOException | RuntimeException | StackOverflowError error) {
                tell("traceback", "The driver failed: " + error + "\n");
                status = "error";
            }
            System.out.flush();
            System.err.flush();
            String id = cell;
            cell = null;
            report("done " + id + " " + (stopped ? "error interrupted" : status));
        }
    }

    private void read(BlockingQueue<String[]> runs) {
        try (Scanner lines = new Scanner(requests, StandardCharsets.UTF_8)) {
            while (lines.hasNextLine()) {
                String[] words = lines.nextLine().split(" ", 3);
                if (words[0].equals("run")) {
                    runs.add(words);
                } else if (words[1].equals(cell)) {
                    stopped = true;
                    input.stop();
                    shell.stop();
                }
            }
        }
        System.exit(0);
    }

    // Cells

    private String run(String name, String source) throws IOException {
        String rest = withoutPackage(source);
        List<Snippet> snippets = new ArrayList<>();
        SnippetEvent last = null;
        for (rest = withoutBlank(rest); !rest.isEmpty() && !stopped; ) {
            int above = lines(source, source.length() - rest.length());
            report("line " + cell + " " + (above + 1));
            CompletionInfo found = shell.sourceCodeAnalysis().analyzeCompletion(rest);
            boolean whole = found.completeness().isComplete();
            last = evaluate(whole ? found.source() : rest, new Place(name, above), snippets);
            if (last == null) {
                return "error compile error";
            }
            if (last.exception() != null) {
                return "error " + thrown(last.exception());
            }
            rest = whole ? withoutBlank(found.remaining()) : "";
        }
        Snippet program = stopped ? null : program(snippets);
        if (program != null) {
            last = evaluate(((TypeDeclSnippet) program).name() + ".main(new String[0]);", null, new ArrayList<>());
            return last == null || last.exception() == null ? "ok" : "error " + thrown(last.exception());
        }
        snippets.forEach(this::warn);
        if (last != null && !stopped) {
            show(last);
        }
        return "ok";
    }

    // Evaluates one snippet and tells what went wrong. Null where it does not compile.
    private SnippetEvent evaluate(String source, Place place, List<Snippet> snippets) throws IOException {
        SnippetEvent own = null;
        for (SnippetEvent event : shell.eval(source)) {
            if (event.causeSnippet() == null) {
                own = event;
                if (place != null) {
                    places.put(event.snippet().id(), place);
                }
                snippets.add(event.snippet());
            }
        }
        if (own == null || own.status() == Status.REJECTED) {
            tell("traceback", own == null ? "Nothing is known of it.\n" : diagnosed(own.snippet(), source, place));
            return null;
        }
        if (own.exception() != null && !stopped) {
            tell("traceback", described(own.exception()));
        }
        return own;
    }

    private String diagnosed(Snippet snippet, String source, Place place) {
        return shell.diagnostics(snippet).filter(Diag::isError).map(problem -> {
            int at = (int) Math.max(0, Math.min(problem.getPosition(), source.length()));
            int start = source.lastIndexOf('\n', at - 1) + 1;
            int end = source.indexOf('\n', at);
            String line = source.substring(start, end < 0 ? source.length() : end);
            String where = place == null ? "" : place.line(lines(source, at) + 1) + ": ";
            String mark = " ".repeat(at - start) + "^\n";
            return where + "error: " + problem.getMessage(Locale.ROOT) + "\n" + line + "\n" + mark;
        }).collect(Collectors.joining());
    }

    private String described(Throwable error) {
        StringBuilder text = new StringBuilder();
        for (int depth = 0; error != null && depth < CAUSES; error = error.getCause(), depth += 1) {
            text.append(depth == 0 ? "Exception " : "Caused by: ").append(thrown(error));
            if (error instanceof UnresolvedReferenceException) {
                text.append(": ").append(missing(((UnresolvedReferenceException) error).getSnippet()));
            } else if (error.getMessage() != null) {
                text.append(": ").append(error.getMessage());
            }
            text.append('\n');
            List<String> frames = Arrays.stream(error.getStackTrace()).map(this::frame)
                    .filter(frame -> !frame.isEmpty()).collect(Collectors.toList());
            frames.stream().limit(FRAMES).forEach(text::append);
            if (frames.size() > FRAMES) {
                text.append("\t... ").append(frames.size() - FRAMES).append(" more\n");
            }
        }
        return text.toString();
    }

    // A snippet's own frames name the file "#ID", and the line in it.
    private String frame(StackTraceElement frame) {
        String file = frame.getFileName() == null ? "" : frame.getFileName();
        if (!file.startsWith("#")) {
            return "\tat " + frame + "\n";
        }
        Place place = places.get(file.substring(1));
        String called = frame.getClassName() + (frame.getClassName().isEmpty() ? "" : ".") + frame.getMethodName();
        String where = called.isEmpty() || called.endsWith(".") ? "" : called + " ";
        return place == null ? "" : "\tat " + where + "(" + place.line(frame.getLineNumber()) + ")\n";
    }

    private static String thrown(Throwable error) {
        return error instanceof EvalException ? ((EvalException) error).getExceptionClassName() : "UnresolvedReference";
    }

    // What is declared but cannot be used yet.
    private void warn(Snippet snippet) {
        Status status = shell.status(snippet);
        if (status == Status.RECOVERABLE_DEFINED || status == Status.RECOVERABLE_NOT_DEFINED) {
            tell("stderr", missing((DeclarationSnippet) snippet) + "\n");
        }
    }

    private String missing(DeclarationSnippet snippet) {
        String names = shell.unresolvedDependencies(snippet).collect(Collectors.joining(", "));
        return snippet.name() + " cannot be used before this is declared: " + names;
    }

    private void show(SnippetEvent event) {
        Snippet snippet = event.snippet();
        if (event.value() == null || event.value().isEmpty() || snippet.kind() == Kind.METHOD) {
            return;
        }
        if (snippet instanceof VarSnippet && snippet.subKind() != SubKind.VAR_DECLARATION_SUBKIND) {
            tell("result", ((VarSnippet) snippet).name() + " ==> " + event.value() + "\n");
        } else if (snippet instanceof ExpressionSnippet) {
            tell("result", ((ExpressionSnippet) snippet).name() + " ==> " + event.value() + "\n");
        }
    }

    // The class of a cell that is a program: it declares, and has a main method.
    private static Snippet program(List<Snippet> snippets) {
        Snippet found = null;
        for (Snippet snippet : snippets) {
            if (snippet.kind() != Kind.TYPE_DECL && snippet.kind() != Kind.IMPORT) {
                return null;
            }
            if (snippet.kind() == Kind.TYPE_DECL && MAIN.matcher(snippet.source()).find()) {
                found = snippet;
            }
        }
        return found;
    }

    // A declaration of a package has no meaning here: blanks, so that lines stay.
    private static String withoutPackage(String source) {
        Matcher found = PACKAGE.matcher(source);
        return found.find() ? found.group().replaceAll("[^\n]", " ") + source.substring(found.end()) : source;
    }

    private static String withoutBlank(String source) {
        Matcher blank = BLANK.matcher(source);
        return blank.lookingAt() ? source.substring(blank.end()) : source;
    }

    private static int lines(String source, int end) {
        return (int) source.chars().limit(end).filter(each -> each == '\n').count();
    }

    // Reports

    private synchronized void report(String line) {
        try {
            reports.write((line + "\n").getBytes(StandardCharsets.UTF_8));
        } catch (IOException gone) {
            System.exit(0);
        }
    }

    private void tell(String stream, String text) {
        StringBuilder json = new StringBuilder();
        for (char each : text.substring(0, Math.min(text.length(), LONGEST_TEXT)).toCharArray()) {
            boolean plain = each >= ' ' && each != '"' && each != '\\' && each < 127;
            json.append(plain ? String.valueOf(each) : String.format("\\u%04x", (int) each));
        }
        String cut = text.length() > LONGEST_TEXT ? "\\u2026 (" + text.length() + " characters)\\n" : "";
        report("text " + cell + " " + stream + " \"" + json + cut + "\"");
    }

    // The terminal's input. It is read on a thread of its own: a read cannot be stopped, who waits for it can.
    private final class Input extends InputStream {
        private final InputStream terminal;
        private byte[] held = new byte[0];
        private int taken;
        private boolean ended;
        private boolean wanted;
        private boolean broken;

        Input(InputStream terminal) {
            this.terminal = terminal;
            Thread pump = new Thread(this::pump, "input");
            pump.setDaemon(true);
            pump.start();
        }

        synchronized void begin() {
            held = new byte[0];
            taken = 0;
            ended = broken = wanted = false;
        }

        synchronized void stop() {
            broken = true;
            notifyAll();
        }

        @Override
        public synchronized int available() {
            return held.length - taken;
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 255;
        }

        @Override
        public synchronized int read(byte[] into, int start, int length) throws IOException {
            if (length == 0) {
                return 0;
            }
            if (taken == held.length) {
                await();
            }
            if (ended) {
                ended = false;
                return -1;
            }
            int size = Math.min(length, held.length - taken);
            System.arraycopy(held, taken, into, start, size);
            taken += size;
            return size;
        }

        private void await() throws IOException {
            wanted = true;
            notifyAll();
            report("input " + cell + " yes");
            try {
                while (taken == held.length && !ended) {
                    if (broken) {
                        throw new Error("stopped");
                    }
                    wait();
                }
            } catch (InterruptedException error) {
                throw new InterruptedIOException();
            } finally {
                wanted = false;
                report("input " + cell + " no");
            }
        }

        private void pump() {
            byte[] buffer = new byte[8192];
            try {
                while (true) {
                    synchronized (this) {
                        while (!wanted || taken < held.length || ended) {
                            wait();
                        }
                    }
                    int size = terminal.read(buffer);
                    synchronized (this) {
                        // What comes when nobody wants it any longer was meant for a cell that was stopped.
                        if (wanted && size > 0) {
                            held = Arrays.copyOf(buffer, size);
                            taken = 0;
                        }
                        ended = wanted && size <= 0;
                        notifyAll();
                    }
                }
            } catch (IOException | InterruptedException gone) {
                System.exit(0);
            }
        }
    }
}

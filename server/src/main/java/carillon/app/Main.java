package carillon.app;

import carillon.cli.CommandFailed;
import carillon.cli.Console;
import carillon.cli.Text;
import carillon.cli.admin.AuditCommand;
import carillon.cli.admin.KeyCommands;
import carillon.cli.admin.TypeCommands;
import carillon.cli.cluster.TopCommand;
import carillon.cli.deadletters.DeadLetterCommands;
import carillon.cli.deadletters.RedriveCommands;
import carillon.cli.schedules.ScheduleCommands;
import carillon.cli.tasks.TaskCommands;
import carillon.client.CarillonException;
import carillon.model.Suggestion;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/** The program. Picks a command, and reports a failure as one line and a status. */
@Command(
    name = "carillon",
    description = "A durable, multi-tenant task scheduler on PostgreSQL",
    synopsisSubcommandLabel = "COMMAND",
    footer = {
      "",
      "Run carillon help COMMAND for the options of a command.",
      "Exit codes: 0 success, 1 not found or conflict, 2 usage or other error."
    })
public final class Main {

  /** The server understood, and there is no such thing or its state forbids it. */
  static final int REFUSED = 1;

  static final int FAILED = 2;

  private final Console console;
  private final Map<String, Supplier<CommandLine>> commands = new LinkedHashMap<>();

  private Main(Console console) {
    this.console = console;
    commands.put("server", () -> ServerCommand.of(console, Wiring::start));
    commands.put("migrate", () -> MigrateCommand.of(console));
    commands.put("task", () -> TaskCommands.of(console));
    commands.put("type", () -> TypeCommands.of(console));
    commands.put("schedule", () -> ScheduleCommands.of(console));
    commands.put("dead-letter", () -> DeadLetterCommands.of(console));
    commands.put("redrive", () -> RedriveCommands.of(console));
    commands.put("key", () -> KeyCommands.of(console));
    commands.put("audit", () -> AuditCommand.of(console));
    commands.put("top", () -> new CommandLine(new TopCommand(console)));
    commands.put("completion", () -> new CommandLine(new CompletionCommand(console)));
  }

  public static void main(String[] args) {
    System.exit(run(args, Console.system()));
  }

  /** Runs one command and returns its exit status. */
  static int run(String[] args, Console console) {
    return new Main(console).run(args);
  }

  /** The version of the jar; "dev" without one. */
  static String version() {
    String version = Main.class.getPackage().getImplementationVersion();
    return version == null ? "dev" : version;
  }

  private int run(String[] args) {
    return args.length > 0 && args[0].equals("help") ? runHelp(args) : runCommand(args);
  }

  /** {@code help task list} is {@code task list --help}. */
  private int runHelp(String[] args) {
    String[] shifted = Arrays.copyOfRange(args, 1, args.length + 1);
    shifted[args.length - 1] = "--help";
    return runCommand(shifted);
  }

  private int runCommand(String[] args) {
    CommandLine root = new CommandLine(this);
    Supplier<CommandLine> named = args.length == 0 ? null : commands.get(args[0]);
    // One command starts faster without the annotations of the others; completion needs them all.
    if (named != null && !args[0].equals("completion")) {
      root.addSubcommand(args[0], named.get());
    } else {
      commands.forEach((name, command) -> root.addSubcommand(name, command.get()));
    }
    prepare(root);
    if (args.length == 0) {
      root.usage(root.getErr());
      return FAILED;
    }
    return root.execute(args);
  }

  private void prepare(CommandLine command) {
    command.getCommandSpec().mixinStandardHelpOptions(true).version("carillon " + version());
    command
        .setOut(new PrintWriter(console.out(), true, StandardCharsets.UTF_8))
        .setUsageHelpWidth(100)
        .setErr(new PrintWriter(console.err(), true, StandardCharsets.UTF_8))
        .setColorScheme(
            CommandLine.Help.defaultColorScheme(console.hasColours() ? Ansi.ON : Ansi.OFF))
        .setParameterExceptionHandler((e, _) -> failed(line(e)))
        .setExecutionExceptionHandler((e, _, _) -> failed(e));
    command.getSubcommands().values().forEach(this::prepare);
  }

  private static String line(ParameterException e) {
    CommandSpec command = e.getCommandLine().getCommandSpec();
    if (e instanceof UnmatchedArgumentException unmatched) {
      String word = unmatched.getUnmatched().getFirst();
      Set<String> known =
          word.startsWith("-") ? command.optionsMap().keySet() : command.subcommands().keySet();
      String kind = word.startsWith("-") ? "option" : known.isEmpty() ? "argument" : "command";
      String hint = Suggestion.hint(word, known);
      return "unknown " + kind + " \"" + word + "\"" + hint;
    }
    return e.getMessage() + "; see " + command.qualifiedName(" ") + " --help";
  }

  private int failed(Exception e) {
    return switch (e) {
      case CarillonException answered -> {
        failed(answered.getMessage());
        yield switch (answered.status()) {
          case 404, 409, 412 -> REFUSED;
          default -> FAILED;
        };
      }
      case CommandFailed failure -> failed(failure.getMessage());
      default -> failed(reason(e));
    };
  }

  /** All messages of an unexpected failure, from the outermost to the innermost. */
  private static String reason(Throwable e) {
    StringBuilder reason = new StringBuilder();
    for (Throwable cause = e; cause != null; cause = cause.getCause()) {
      String message = firstLine(cause);
      if (reason.indexOf(message) < 0) {
        reason.append(reason.isEmpty() ? "" : ": ").append(message);
      }
    }
    return reason.toString();
  }

  private static String firstLine(Throwable e) {
    String message = e.getMessage() == null ? "" : e.getMessage();
    return message
        .lines()
        .filter(line -> !line.isBlank())
        .findFirst()
        .orElse(e.getClass().getSimpleName());
  }

  private int failed(@Nullable String line) {
    console.err().println("carillon: " + Text.visible(line == null ? "failed" : line));
    return FAILED;
  }
}

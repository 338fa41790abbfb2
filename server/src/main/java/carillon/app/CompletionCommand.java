package carillon.app;

import carillon.cli.CommandFailed;
import carillon.cli.Console;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code carillon completion}: a script by which a shell completes commands and options. */
@Command(
    name = "completion",
    description = {
      "Print a completion script for a shell.",
      "",
      "bash, zsh: source <(carillon completion bash)",
      "fish: carillon completion fish | source"
    })
final class CompletionCommand implements Callable<Integer> {

  private static final String NAME = "carillon";

  @Spec private CommandSpec spec = CommandSpec.create();

  @Parameters(paramLabel = "bash|zsh|fish")
  private String shell = "";

  private final Console console;

  CompletionCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() {
    CommandLine root = spec.root().commandLine();
    console
        .out()
        .print(
            switch (shell) {
              case "bash", "zsh" -> AutoComplete.bash(NAME, root); // sets up zsh as well
              case "fish" -> String.join("\n", fish(root)) + "\n";
              default ->
                  throw new CommandFailed("unknown shell " + shell + ". Use bash, zsh or fish");
            });
    console.out().flush();
    return 0;
  }

  private static List<String> fish(CommandLine root) {
    List<String> lines = new ArrayList<>();
    addCommands(lines, root, "__fish_use_subcommand");
    root.getSubcommands()
        .forEach(
            (name, command) -> {
              String seen = seen(name);
              if (command.getSubcommands().isEmpty()) {
                addOptions(lines, command, seen);
              }
              addCommands(
                  lines,
                  command,
                  seen + "; and not " + seen(String.join(" ", command.getSubcommands().keySet())));
              command
                  .getSubcommands()
                  .forEach((sub, leaf) -> addOptions(lines, leaf, seen + "; and " + seen(sub)));
            });
    return lines;
  }

  private static String seen(String names) {
    return "__fish_seen_subcommand_from " + names;
  }

  private static void addCommands(List<String> lines, CommandLine parent, String condition) {
    parent
        .getSubcommands()
        .forEach(
            (name, command) ->
                lines.add(
                    "complete -c %s -f -n '%s' -a %s -d '%s'"
                        .formatted(
                            NAME,
                            condition,
                            name,
                            first(command.getCommandSpec().usageMessage().description()))));
  }

  private static void addOptions(List<String> lines, CommandLine command, String condition) {
    for (OptionSpec option : command.getCommandSpec().options()) {
      lines.add(
          "complete -c %s -n '%s' -l %s%s -d '%s'"
              .formatted(
                  NAME,
                  condition,
                  option.longestName().replaceFirst("^-+", ""),
                  option.arity().max() == 0 ? "" : " -r",
                  first(option.description())));
    }
  }

  private static String first(String[] description) {
    return description.length == 0 ? "" : description[0].replace("\\", "\\\\").replace("'", "\\'");
  }
}

package carillon.cli.tasks;

import carillon.cli.ApiCommand;
import carillon.cli.CommandFailed;
import carillon.cli.Console;
import carillon.cli.ListOptions;
import carillon.cli.Table;
import carillon.cli.TargetOptions;
import carillon.client.Carillon;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code carillon task ...} */
@Command(name = "task", description = "Create, find and steer tasks")
public final class TaskCommands {

  private static final String TASKS = "/v1/tasks";

  private TaskCommands() {}

  /** The command with its subcommands. */
  public static CommandLine of(Console console) {
    return new CommandLine(new TaskCommands())
        .addSubcommand(new Create(console))
        .addSubcommand(new Edit(console))
        .addSubcommand(new Get(console))
        .addSubcommand(new Attempts(console))
        .addSubcommand(new Find(console))
        .addSubcommand(new Cancel(console))
        .addSubcommand(new Run(console))
        .addSubcommand(new Redrive(console));
  }

  @Command(name = "create", description = "Create a task")
  static final class Create extends ApiCommand {

    @Parameters(paramLabel = "TYPE", description = "its type; made on first use")
    private String type = "";

    @Option(
        names = "--payload",
        paramLabel = "JSON|@FILE|-",
        description = "any JSON, a file of it, or standard input")
    private @Nullable String payload;

    @ArgGroup(exclusive = true)
    private @Nullable When when;

    @Mixin private final TargetOptions target = new TargetOptions();

    @Option(
        names = "--key",
        paramLabel = "KEY",
        description = "business key, to find and cancel it by")
    private @Nullable String key;

    @Option(
        names = "--priority",
        paramLabel = "0..9",
        description = "higher is more urgent. Default 5")
    private @Nullable Integer priority;

    @Option(names = "--max-attempts", paramLabel = "N", description = "attempts before it is dead")
    private @Nullable Integer maxAttempts;

    @Option(
        names = "--ttl",
        paramLabel = "DURATION",
        description = "not started by then, it expires")
    private @Nullable String ttl;

    @Option(
        names = "--unique-for",
        paramLabel = "DURATION",
        description = "no second task of this type and key within")
    private @Nullable String uniqueFor;

    @Option(
        names = "--concurrency-key",
        paramLabel = "KEY",
        description = "one task with this key runs at a time")
    private @Nullable String concurrencyKey;

    @Option(
        names = "--metadata",
        paramLabel = "NAME=VALUE",
        description = "shown and searchable; can be repeated")
    private Map<String, String> metadata = new LinkedHashMap<>();

    @Option(
        names = "--on-complete",
        paramLabel = "URL",
        description = "is called when it has completed")
    private @Nullable String onComplete;

    @Option(names = "--on-dead", paramLabel = "URL", description = "is called when it has died")
    private @Nullable String onDead;

    @Option(
        names = "--idempotency-key",
        paramLabel = "KEY",
        description = "repeating the call creates nothing new")
    private @Nullable String idempotencyKey;

    /** When it is due; now unless given. */
    static final class When {
      @Option(
          names = "--due",
          paramLabel = "TIME",
          description = "when, such as 2027-03-28T09:00:00+02:00")
      private @Nullable String due;

      @Option(names = "--in", paramLabel = "DURATION", description = "in how long, such as 30s")
      private @Nullable String in;
    }

    Create(Console console) {
      super(console);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      ObjectNode task = JSON.createObjectNode().put("type", type);
      set(task, "payload", payload == null ? null : readJson("--payload", payload));
      set(task, "dueAt", when == null ? null : when.due);
      set(task, "delay", when == null ? null : when.in);
      set(task, "target", target.json());
      set(task, "key", key);
      set(task, "priority", priority);
      set(task, "retry", maxAttempts == null ? null : Map.of("maxAttempts", maxAttempts));
      set(task, "ttl", ttl);
      set(task, "unique", uniqueFor == null ? null : Map.of("for", uniqueFor));
      set(task, "concurrencyKey", concurrencyKey);
      set(task, "metadata", metadata.isEmpty() ? null : metadata);
      set(task, "onComplete", callback(onComplete));
      set(task, "onDead", callback(onDead));
      return idempotencyKey == null
          ? carillon.post(TASKS, task)
          : carillon.post(TASKS, task, idempotencyKey);
    }
  }

  @Command(name = "edit", description = "Change a task that waits or is dead")
  static final class Edit extends ApiCommand {

    @Parameters(paramLabel = "ID")
    private String id = "";

    @Option(
        names = "--payload",
        paramLabel = "JSON|@FILE|-",
        description = "any JSON, a file of it, or standard input")
    private @Nullable String payload;

    @Option(
        names = "--due",
        paramLabel = "TIME",
        description = "when, such as 2027-03-28T09:00:00+02:00")
    private @Nullable String due;

    @Mixin private final TargetOptions target = new TargetOptions();

    @Option(names = "--key", paramLabel = "KEY", description = "business key")
    private @Nullable String key;

    @Option(names = "--priority", paramLabel = "0..9", description = "higher is more urgent")
    private @Nullable Integer priority;

    @Option(
        names = "--retry",
        paramLabel = "JSON|@FILE|-",
        description = "retry policy, replaced as a whole")
    private @Nullable String retry;

    Edit(Console console) {
      super(console);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      ObjectNode patch = JSON.createObjectNode();
      set(patch, "payload", payload == null ? null : readJson("--payload", payload));
      set(patch, "dueAt", due);
      set(patch, "target", target.json());
      set(patch, "key", key);
      set(patch, "priority", priority);
      set(patch, "retry", retry == null ? null : readJson("--retry", retry));
      if (patch.isEmpty()) {
        throw new CommandFailed(
            "give at least one of --payload, --due, --http, --pull, --discard, --key, --priority"
                + " and --retry");
      }
      return carillon.patch(path(TASKS + "/", id, ""), patch);
    }
  }

  @Command(name = "get", description = "Show a task with its attempts and its history")
  static final class Get extends ApiCommand {

    @Parameters(paramLabel = "ID")
    private String id = "";

    Get(Console console) {
      super(console);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      return carillon.get(path(TASKS + "/", id, ""));
    }

    @Override
    public void show(JsonNode answer) {
      if (answer instanceof ObjectNode task && answer.path("attempts").isArray()) {
        task.set("attempts", readable(answer.path("attempts")));
      }
      super.show(answer);
    }
  }

  @Command(name = "attempts", description = "List the attempts of a task, newest first")
  static final class Attempts extends ApiCommand {

    @Parameters(paramLabel = "ID")
    private String id = "";

    @Mixin private final ListOptions page = new ListOptions();

    Attempts(Console console) {
      super(console);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      String path = path(TASKS + "/", id, "/attempts");
      return carillon.get(query(path, "limit", page.limit, "cursor", page.cursor));
    }

    @Override
    public void show(JsonNode answer) {
      ObjectNode list = JSON.createObjectNode();
      list.set("items", readable(answer.path("items")));
      list.set("nextCursor", answer.path("nextCursor"));
      new Table(console)
          .list(
              list,
              "attempt",
              "by",
              "startedAt",
              "duration",
              "outcome",
              "status",
              "failure",
              "cause",
              "error");
    }
  }

  /** Attempts as one line each: why they failed stands in columns, what was sent is left out. */
  private static ArrayNode readable(JsonNode attempts) {
    ArrayNode lines = ApiCommand.JSON.createArrayNode();
    for (JsonNode attempt : attempts) {
      ObjectNode line = lines.addObject();
      for (var field : attempt.properties()) {
        JsonNode value = field.getValue();
        if (field.getKey().equals("error") && value.isObject()) {
          line.set("failure", value.path("kind"));
          line.set("cause", value.path("cause"));
          line.set("error", value.path("message"));
        } else if (!field.getKey().equals("request")) {
          line.set(field.getKey(), value);
        }
      }
    }
    return lines;
  }

  @Command(name = "list", description = "List tasks")
  static final class Find extends ApiCommand {

    private static final int MOST_PAGES = 200;

    @Option(names = "--type", paramLabel = "TYPE")
    private @Nullable String type;

    @Option(
        names = "--status",
        paramLabel = "STATUS",
        description = "PENDING, RUNNING, COMPLETED, DEAD ...")
    private @Nullable String status;

    @Option(names = "--key", paramLabel = "KEY", description = "business key")
    private @Nullable String key;

    @Option(
        names = "--schedule",
        paramLabel = "NAME",
        description =
            "made by this schedule; without those that it withdrew, and those whose fires are"
                + " forgotten")
    private @Nullable String schedule;

    @Option(names = "--due-after", paramLabel = "TIME")
    private @Nullable String dueAfter;

    @Option(names = "--due-before", paramLabel = "TIME")
    private @Nullable String dueBefore;

    @Option(
        names = "--error",
        paramLabel = "TEXT",
        description = "its last error or answer contains this")
    private @Nullable String error;

    @Option(names = "--metadata", paramLabel = "NAME=VALUE", description = "can be repeated")
    private Map<String, String> metadata = new LinkedHashMap<>();

    @Mixin private final ListOptions page = new ListOptions();

    Find(Console console) {
      super(console);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      // A page may be empty and have a next one: how far the server looks is bounded. A person
      // asked for tasks.
      JsonNode answer = ask(carillon, page.cursor);
      for (int pages = 1; pages < MOST_PAGES && isEmptyButNotLast(answer); pages++) {
        answer = ask(carillon, answer.path("nextCursor").asString());
      }
      return answer;
    }

    private static boolean isEmptyButNotLast(JsonNode answer) {
      return answer.path("items").isEmpty() && answer.path("nextCursor").isString();
    }

    private JsonNode ask(Carillon carillon, @Nullable String cursor) {
      String path =
          query(
              TASKS,
              "type",
              type,
              "status",
              status,
              "key",
              key,
              "schedule",
              schedule,
              "dueAfter",
              dueAfter,
              "dueBefore",
              dueBefore,
              "error",
              error,
              "limit",
              page.limit,
              "cursor",
              cursor);
      for (Map.Entry<String, String> pair : metadata.entrySet()) {
        String parameter = query("", "metadata." + pair.getKey(), pair.getValue()).substring(1);
        path = path + (path.contains("?") ? "&" : "?") + parameter;
      }
      return carillon.get(path);
    }

    @Override
    public void show(JsonNode answer) {
      new Table(console).list(answer, "id", "type", "key", "status", "dueAt", "attempt", "error");
    }
  }

  @Command(name = "cancel", description = "Cancel a task by id, or tasks by type and key")
  static final class Cancel extends ApiCommand {

    @Parameters(paramLabel = "ID", arity = "0..1")
    private @Nullable String id;

    @Option(names = "--type", paramLabel = "TYPE")
    private @Nullable String type;

    @Option(names = "--key", paramLabel = "KEY", description = "business key")
    private @Nullable String key;

    Cancel(Console console) {
      super(console);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      boolean byFilter = type != null || key != null;
      if (id != null && !byFilter) {
        return carillon.post(path(TASKS + "/", id, "/cancel"), null);
      }
      if (id != null || !byFilter) {
        throw new CommandFailed("give either the ID of a task, or --type and --key");
      }
      ObjectNode filter = JSON.createObjectNode();
      set(filter, "type", type);
      set(filter, "key", key);
      return carillon.post(TASKS + "/cancel", filter);
    }
  }

  @Command(name = "run", description = "Make a task due now")
  static final class Run extends ApiCommand {

    @Parameters(paramLabel = "ID")
    private String id = "";

    Run(Console console) {
      super(console);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      return carillon.post(path(TASKS + "/", id, "/run"), null);
    }
  }

  @Command(name = "redrive", description = "Give a dead task a fresh budget of attempts")
  static final class Redrive extends ApiCommand {

    @Parameters(paramLabel = "ID")
    private String id = "";

    Redrive(Console console) {
      super(console);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      return carillon.post(path(TASKS + "/", id, "/redrive"), null);
    }
  }
}

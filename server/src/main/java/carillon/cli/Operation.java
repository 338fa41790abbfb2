package carillon.cli;

import carillon.client.Carillon;
import carillon.client.CarillonException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.StringJoiner;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Model.ArgGroupSpec;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** A command that is one request to the API, described by a table of its fields. */
public final class Operation extends ApiCommand {

  private static final int MAX_EMPTY_PAGES = 200;

  private static final Pattern ARGUMENT = Pattern.compile("\\{([A-Z]+)(\\??)}");
  private static final Pattern PARAMETER = Pattern.compile("^the parameter ([A-Za-z]+): ");

  private static final Field LIMIT =
      Field.number("--limit N", "limit", "page size, 1 to 1000. Default: 100");
  private static final Field CURSOR =
      Field.text(
          "--cursor CURSOR", "cursor", "cursor of the next page, printed by the previous one");

  private final String method;
  private final String path;
  private final CommandSpec spec;
  private final Map<Field, ArgSpec> fields = new LinkedHashMap<>();
  private int arguments;

  private Consumer<ObjectNode> preparation = _ -> {};
  private Caller caller = (_, _, send) -> send.get();
  private BiConsumer<Console, JsonNode> view =
      (console, response) -> new Table(console).object(response);

  /** Gets the response if sending the request once is not enough. */
  @FunctionalInterface
  public interface Caller {
    JsonNode call(Carillon carillon, Console console, Supplier<JsonNode> send);
  }

  /**
   * @param endpoint the method and the path, with {@code {LABEL}} for a required argument and
   *     {@code {LABEL?}} for an optional one
   */
  public Operation(Console console, String name, String endpoint, String... description) {
    super(console);
    int space = endpoint.indexOf(' ');
    method = endpoint.substring(0, space);
    path = endpoint.substring(space + 1).replace("?}", "}");
    spec = CommandSpec.forAnnotatedObject(this).name(name);
    spec.usageMessage().description(description);
    ARGUMENT
        .matcher(endpoint)
        .results()
        .forEach(
            match -> {
              Field argument = Field.inPath(match.group(1));
              with(match.group(2).isEmpty() ? argument : argument.optional());
            });
  }

  /** Creates a command with subcommands. */
  public static CommandLine group(String name, String description, ApiCommand... commands) {
    CommandSpec spec = CommandSpec.create().name(name);
    spec.usageMessage().description(description);
    CommandLine group = new CommandLine(spec);
    for (ApiCommand command : commands) {
      group.addSubcommand(
          command instanceof Operation operation
              ? operation.commandLine()
              : new CommandLine(command));
    }
    return group;
  }

  public CommandLine commandLine() {
    return new CommandLine(spec);
  }

  public Operation aliases(String... names) {
    spec.aliases(names);
    return this;
  }

  public Operation with(Field... added) {
    for (Field field : added) {
      spec.add(add(field));
    }
    return this;
  }

  public Operation with(List<Field> added) {
    return with(added.toArray(Field[]::new));
  }

  /**
   * Adds mutually exclusive fields.
   *
   * @param isRequired whether one of them must be given
   */
  public Operation oneOf(boolean isRequired, Field... choices) {
    ArgGroupSpec.Builder group =
        ArgGroupSpec.builder().exclusive(true).multiplicity(isRequired ? "1" : "0..1");
    for (Field field : choices) {
      group.addArg(add(field));
    }
    spec.addArgGroup(group.build());
    return this;
  }

  /** Adds the options of a list and shows the response as a table. */
  public Operation list(String... columns) {
    view = (console, response) -> new Table(console).list(response, columns);
    return with(LIMIT, CURSOR);
  }

  /** Adds a step that checks or changes the request before it is sent. */
  public Operation prepare(Consumer<ObjectNode> step) {
    preparation = preparation.andThen(step);
    return this;
  }

  /**
   * Asks on a terminal before the request is sent, unless {@code --yes} is given.
   *
   * @param question with {@code {LABEL}} for an argument
   */
  public Operation confirming(String question) {
    OptionSpec yes =
        OptionSpec.builder("--yes").type(boolean.class).description("do not ask").build();
    spec.addOption(yes);
    return prepare(
        request -> {
          boolean isDryRun = request.path("dryRun").asBoolean(false);
          if (!isDryRun
              && !Boolean.TRUE.equals(yes.getValue())
              && !console.confirms(expanded(question))) {
            throw new CommandFailed("cancelled; nothing was changed");
          }
        });
  }

  public Operation calling(Caller replacement) {
    caller = replacement;
    return this;
  }

  public Operation showing(BiConsumer<Console, JsonNode> replacement) {
    view = replacement;
    return this;
  }

  /** Adds {@code --watch} for the operation that the request starts. */
  public Operation watching(WatchOption.Subject subject) {
    WatchOption watch = new WatchOption();
    spec.addMixin("watch", CommandSpec.forAnnotatedObject(watch));
    return calling(
        (carillon, _, send) -> watch.until(carillon, console, send, subject, this::expanded));
  }

  public boolean isGiven(String argument) {
    return fields.entrySet().stream()
        .anyMatch(
            field ->
                field.getKey().label().equals(argument) && field.getValue().getValue() != null);
  }

  private ArgSpec add(Field field) {
    ArgSpec arg = field.spec(arguments);
    arguments += field.isOption() ? 0 : 1;
    fields.put(field, arg);
    return arg;
  }

  @Override
  protected JsonNode request(Carillon carillon) {
    ObjectNode request = fieldValues();
    preparation.accept(request);
    try {
      return caller.call(carillon, console, () -> send(carillon, request));
    } catch (CarillonException e) {
      throw switch (e.status()) {
        case 400, 422 -> new CommandFailed(withOptionNames(e));
        default -> e;
      };
    }
  }

  /** The server names a field by its JSON pointer or as a parameter; the user typed an option. */
  private String withOptionNames(CarillonException e) {
    String message = String.valueOf(e.getMessage());
    for (CarillonException.Problem problem : e.errors()) {
      String option = optionFor(problem.pointer());
      if (!option.equals(problem.pointer())) {
        message =
            Pattern.compile("(?<![^ ])" + Pattern.quote(problem.pointer()) + ":? ")
                .matcher(message)
                .replaceAll(Matcher.quoteReplacement(option + ": "));
      }
    }
    return PARAMETER
        .matcher(message)
        .replaceFirst(match -> Matcher.quoteReplacement(optionFor("/" + match.group(1)) + ": "));
  }

  /** The option of the field, or of the object that contains it; otherwise the pointer itself. */
  private String optionFor(String pointer) {
    for (Field field : fields.keySet()) {
      String prefix = "/" + field.path().replace('.', '/');
      boolean isSame = pointer.equals(prefix);
      if (!field.path().isEmpty() && (isSame || pointer.startsWith(prefix + "/"))) {
        return field.name() + (isSame ? "" : " " + pointer.substring(prefix.length()));
      }
    }
    return pointer;
  }

  @Override
  public void show(JsonNode response) {
    view.accept(console, response);
  }

  private JsonNode send(Carillon carillon, ObjectNode request) {
    String to = expanded(path);
    return switch (method) {
      case "GET" -> read(carillon, to, request);
      case "PUT" -> carillon.put(to, request);
      case "PATCH" -> carillon.patch(to, request);
      case "DELETE" -> carillon.delete(to);
      default -> {
        ObjectNode body = request.isEmpty() ? null : request;
        String key = idempotencyKey();
        yield key == null ? carillon.post(to, body) : carillon.post(to, body, key);
      }
    };
  }

  /**
   * Skips empty pages: the server limits how far it searches for one page, so an empty page may
   * have a next one.
   */
  private static JsonNode read(Carillon carillon, String path, ObjectNode request) {
    JsonNode response = carillon.get(path + query(request));
    for (int page = 1; page < MAX_EMPTY_PAGES && isEmptyButNotLast(response); page++) {
      request.set("cursor", response.path("nextCursor"));
      response = carillon.get(path + query(request));
    }
    return response;
  }

  private static boolean isEmptyButNotLast(JsonNode response) {
    return response.path("items").isArray()
        && response.path("items").isEmpty()
        && response.path("nextCursor").isString();
  }

  private static String query(ObjectNode request) {
    StringJoiner query = new StringJoiner("&", "?", "").setEmptyValue("");
    for (var field : request.properties()) {
      if (field.getValue().isObject()) {
        field
            .getValue()
            .properties()
            .forEach(
                pair ->
                    query.add(
                        encoded(field.getKey() + "." + pair.getKey())
                            + "="
                            + encoded(pair.getValue().asString())));
      } else {
        query.add(field.getKey() + "=" + encoded(field.getValue().asString()));
      }
    }
    return query.toString();
  }

  private @Nullable String idempotencyKey() {
    return fields.entrySet().stream()
        .filter(field -> field.getKey().kind() == Field.Kind.IDEMPOTENCY_KEY)
        .map(field -> field.getValue().<String>getValue())
        .filter(Objects::nonNull)
        .findFirst()
        .orElse(null);
  }

  /** Puts the arguments into a template; a missing optional one is removed with its slash. */
  private String expanded(String template) {
    String result = template;
    for (Map.Entry<Field, ArgSpec> field : fields.entrySet()) {
      if (field.getKey().kind() == Field.Kind.IN_PATH) {
        String value = field.getValue().getValue();
        String place = "{" + field.getKey().label() + "}";
        result =
            value == null ? result.replace("/" + place, "") : result.replace(place, encoded(value));
      }
    }
    return result;
  }

  private ObjectNode fieldValues() {
    ObjectNode request = JSON.createObjectNode();
    ObjectNode whole = JSON.createObjectNode();
    for (Map.Entry<Field, ArgSpec> entry : fields.entrySet()) {
      Field field = entry.getKey();
      JsonNode value = value(field, entry.getValue().getValue());
      if (value != null && field.kind() == Field.Kind.JSON && field.path().isEmpty()) {
        if (!(value instanceof ObjectNode object)) {
          throw new CommandFailed("the settings must be a JSON object");
        }
        whole = object;
      } else if (value != null && !field.path().isEmpty()) {
        put(request, field.path(), value);
      }
    }
    for (var field : whole.properties()) {
      request.putIfAbsent(field.getKey(), field.getValue());
    }
    return request;
  }

  private @Nullable JsonNode value(Field field, @Nullable Object given) {
    if (given == null || given.equals(false)) {
      return null;
    }
    return switch (field.kind()) {
      case JSON -> readJson(field.path().isEmpty() ? "the settings" : field.name(), (String) given);
      case CHOICE -> JSON.valueToTree(chosen(field, (String) given));
      case EMPTY -> JSON.createObjectNode();
      case PAIRS -> {
        ((Map<?, ?>) given)
            .keySet()
            .forEach(name -> rejectEmpty(field.name() + ": the name", name));
        yield JSON.valueToTree(given);
      }
      case LIST -> {
        ((List<?>) given).forEach(each -> rejectEmpty(field.name(), each));
        yield JSON.valueToTree(given);
      }
      default -> {
        rejectEmpty(field.name(), given);
        yield JSON.valueToTree(given);
      }
    };
  }

  private static String chosen(Field field, String given) {
    return field.choices().stream()
        .filter(given::equalsIgnoreCase)
        .findFirst()
        .orElseThrow(
            () ->
                new CommandFailed(
                    "unknown "
                        + field.path()
                        + " "
                        + given
                        + ". Use "
                        + Field.alternatives(field.choices())));
  }

  /** An empty value is usually an unset variable of a script, and could match everything. */
  private static void rejectEmpty(String what, @Nullable Object value) {
    if ("".equals(value)) {
      throw new CommandFailed(what + " must not be empty");
    }
  }

  private static void put(ObjectNode request, String path, JsonNode value) {
    ObjectNode node = request;
    String[] names = path.split("\\.", -1);
    for (int i = 0; i < names.length - 1; i++) {
      node = node.get(names[i]) instanceof ObjectNode child ? child : node.putObject(names[i]);
    }
    node.set(names[names.length - 1], value);
  }
}

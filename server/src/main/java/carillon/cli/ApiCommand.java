package carillon.cli;

import carillon.client.Carillon;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** A command that is one call of the API. */
public abstract class ApiCommand implements Callable<Integer> {

  public static final JsonMapper JSON =
      JsonMapper.builder().enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION).build();

  @Mixin public final Connection connection = new Connection();

  @Option(names = "--json", description = "print the answer as it came")
  private boolean json;

  public final Console console;

  public ApiCommand(Console console) {
    this.console = console;
  }

  /** Makes the call. */
  protected abstract JsonNode ask(Carillon carillon);

  /** Shows the answer to a person. */
  public void show(JsonNode answer) {
    new Table(console).object(answer);
  }

  @Override
  public final Integer call() {
    try (Carillon carillon = connection.open(console)) {
      JsonNode answer = ask(carillon);
      if (json) {
        console.out().println(answer.isMissingNode() ? "{}" : answer.toString());
      } else if (answer.isMissingNode() || answer.isEmpty()) {
        console.out().println("done");
      } else {
        show(answer);
      }
      return 0;
    }
  }

  /** A path in which each part that is a name or an id is made harmless. */
  public static String path(String prefix, String name, String suffix) {
    return prefix + encoded(name) + suffix;
  }

  /** Adds the parameters that have a value; given as name, value, name, value. */
  public static String query(String path, @Nullable Object... namesAndValues) {
    List<String> parameters = new ArrayList<>();
    for (int i = 0; i < namesAndValues.length; i += 2) {
      Object value = namesAndValues[i + 1];
      if (value != null) {
        parameters.add(namesAndValues[i] + "=" + encoded(value.toString()));
      }
    }
    return parameters.isEmpty() ? path : path + "?" + String.join("&", parameters);
  }

  private static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
  }

  /** Sets the field if there is a value. */
  public static void set(ObjectNode object, String field, @Nullable Object value) {
    if (value != null) {
      object.set(field, JSON.valueToTree(value));
    }
  }

  /** The target that calls a URL, if there is one. */
  protected static @Nullable ObjectNode callback(@Nullable String url) {
    if (url == null) {
      return null;
    }
    ObjectNode target = JSON.createObjectNode();
    target.putObject("http").put("url", url);
    return target;
  }

  /** Reads JSON that is given itself, as {@code @file}, or as {@code -} for standard input. */
  protected JsonNode readJson(String option, String given) {
    String text = given;
    try {
      if (given.equals("-")) {
        text = new String(console.in().readAllBytes(), StandardCharsets.UTF_8);
      } else if (given.startsWith("@")) {
        text = Files.readString(console.directory().resolve(given.substring(1)));
      }
      JsonNode value = JSON.readTree(text);
      if (value.isMissingNode()) {
        throw new CommandFailed(option + " is empty");
      }
      return value;
    } catch (IOException e) {
      throw new CommandFailed(
          option + ": " + given + " cannot be read: " + CommandFailed.reason(e));
    } catch (JacksonException e) {
      throw new CommandFailed(
          option
              + " is not JSON (line "
              + e.getLocation().getLineNr()
              + "): "
              + e.getOriginalMessage());
    }
  }
}

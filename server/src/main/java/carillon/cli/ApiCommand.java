package carillon.cli;

import carillon.client.Carillon;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.concurrent.Callable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** A command that asks the API for something and shows the answer. */
public abstract class ApiCommand implements Callable<Integer> {

  public static final JsonMapper JSON =
      JsonMapper.builder().enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION).build();

  @Mixin public final Connection connection = new Connection();

  @Option(names = "--json", description = "output raw JSON")
  private boolean json;

  public final Console console;

  public ApiCommand(Console console) {
    this.console = console;
  }

  /** Makes the call. */
  protected abstract JsonNode ask(Carillon carillon);

  /** Shows the answer to a person. */
  public abstract void show(JsonNode answer);

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

  /** Makes a name or an id harmless in a path or a query. */
  public static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
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
        throw new CommandFailed(option + " must not be empty");
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

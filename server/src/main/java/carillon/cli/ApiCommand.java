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

/** A command that calls the API and shows the response. */
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

  /** Calls the API. */
  protected abstract JsonNode request(Carillon carillon);

  /** Prints the response for people. */
  public abstract void show(JsonNode response);

  @Override
  public final Integer call() {
    try (Carillon carillon = connection.open(console)) {
      JsonNode response = request(carillon);
      if (json) {
        console.out().println(response.isMissingNode() ? "{}" : response.toString());
      } else if (response.isMissingNode() || response.isEmpty()) {
        console.out().println("done");
      } else {
        show(response);
      }
      return 0;
    }
  }

  /** Percent-encodes a value for a path or a query. */
  public static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
  }

  /** Reads JSON from an option: the text itself, {@code @file}, or {@code -} for standard input. */
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

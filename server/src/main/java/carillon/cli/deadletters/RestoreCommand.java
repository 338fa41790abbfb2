package carillon.cli.deadletters;

import carillon.cli.ApiCommand;
import carillon.cli.CommandFailed;
import carillon.cli.Console;
import carillon.cli.Table;
import carillon.client.Carillon;
import carillon.client.CarillonException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;
import tools.jackson.databind.JsonNode;

/** {@code carillon dead-letter restore}: sends the lines of archives to the server. */
@Command(
    name = "restore",
    description = {
      "Restore archived dead letters (admin key required).",
      "",
      "Existing tasks are skipped, so it is safe to run again. With several files, the newest (by"
          + " name) is read first. With --tenant, only the tasks of that tenant are restored."
    })
final class RestoreCommand extends ApiCommand {

  private static final String PATH = "/v1/dead-letters/restore";
  private static final int MAX_LINES = 200;
  private static final int MAX_BYTES = 4 << 20;
  private static final Pattern LINE = Pattern.compile("/lines/([0-9]{1,6})(/?.*)");

  @Parameters(
      arity = "1..*",
      paramLabel = "FILE",
      description = "archive, compressed or not; - for standard input")
  private List<String> files = new ArrayList<>();

  private long restored;
  private long present;

  RestoreCommand(Console console) {
    super(console);
  }

  /** Lines of one tenant for one request. */
  private static final class Chunk {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final List<Integer> numbers = new ArrayList<>();

    void add(ArchiveLines.Line line) {
      line.writeTo(bytes);
      bytes.write('\n');
      numbers.add(line.number());
    }

    boolean isFull() {
      return numbers.size() >= MAX_LINES || bytes.size() >= MAX_BYTES;
    }
  }

  @Override
  protected JsonNode request(Carillon carillon) {
    List<String> newestFirst = new ArrayList<>(files);
    // A task that changed while it was archived is in a later file again, which has its final
    // state.
    newestFirst.sort(Comparator.comparing(RestoreCommand::name).reversed());
    for (String file : newestFirst) {
      restore(carillon, file);
    }
    if (console.isTerminal()) {
      console.err().println();
    }
    return JSON.createObjectNode().put("restored", restored).put("present", present);
  }

  @Override
  public void show(JsonNode response) {
    new Table(console).object(response);
  }

  private static String name(String file) {
    Path name = Path.of(file).getFileName();
    return name == null ? file : name.toString();
  }

  private void restore(Carillon carillon, String file) {
    String only = connection.tenant(console);
    Map<String, Chunk> chunks = new LinkedHashMap<>();
    try {
      rejectDamaged(file);
    } catch (IOException e) {
      throw failed(file, "cannot read the file: " + CommandFailed.reason(e));
    }
    try (InputStream in = open(file);
        ArchiveLines lines = ArchiveLines.of(in)) {
      String error = gather(carillon, file, lines, only, chunks);
      for (Map.Entry<String, Chunk> chunk : chunks.entrySet()) {
        send(carillon, file, chunk.getKey(), chunk.getValue());
      }
      if (error != null) {
        throw failed(file, error);
      }
    } catch (IOException e) {
      throw failed(file, "cannot read the file: " + CommandFailed.reason(e));
    }
  }

  /**
   * Reads a file to its checksum at the end before anything is sent, so that nothing of a damaged
   * file is restored.
   */
  private void rejectDamaged(String file) throws IOException {
    if (file.equals("-")) {
      return; // standard input can be read only once
    }
    try (InputStream in = open(file);
        ArchiveLines lines = ArchiveLines.of(in)) {
      readToEnd(file, lines);
    }
  }

  private static void readToEnd(String file, ArchiveLines lines) {
    try {
      lines.toEnd();
    } catch (IOException e) {
      throw new CommandFailed(
          file
              + ": is damaged or truncated; nothing was restored. Recover the readable part with"
              + " zcat and restore it from standard input");
    }
  }

  /** Sends full chunks and keeps the rest. Returns what is wrong with the file, or null. */
  private @Nullable String gather(
      Carillon carillon,
      String file,
      ArchiveLines lines,
      @Nullable String only,
      Map<String, Chunk> chunks) {
    try {
      for (ArchiveLines.Line line = lines.next(); line != null; line = lines.next()) {
        String tenant = line.tenant();
        if (tenant == null) {
          return "line " + line.number() + " has no tenant; is this an archive?";
        }
        if (only != null && !only.equals(tenant)) {
          continue;
        }
        Chunk chunk = chunks.computeIfAbsent(tenant, _ -> new Chunk());
        chunk.add(line);
        if (chunk.isFull()) {
          chunks.remove(tenant);
          send(carillon, file, tenant, chunk);
        }
      }
      return null;
    } catch (IOException e) {
      return "is damaged after line " + lines.number() + ": " + CommandFailed.reason(e);
    }
  }

  private InputStream open(String file) throws IOException {
    return file.equals("-")
        ? console.in()
        : Files.newInputStream(console.directory().resolve(file));
  }

  private void send(Carillon carillon, String file, String tenant, Chunk chunk) {
    // The name becomes a header.
    if (!tenant.matches("[a-z0-9][a-z0-9-]{0,62}")) {
      throw failed(
          file,
          "line "
              + chunk.numbers.getFirst()
              + ": "
              + quoted(tenant)
              + " is not a valid tenant name");
    }
    try {
      JsonNode response = carillon.withTenant(tenant).postLines(PATH, chunk.bytes.toByteArray());
      restored += response.path("restored").asLong();
      present += response.path("present").asLong();
    } catch (CarillonException e) {
      throw failed(file, message(e, tenant, chunk));
    }
    if (console.isTerminal()) {
      console.err().print("\rrestored " + restored + ", present " + present);
      console.err().flush();
    }
  }

  private static String quoted(String tenant) {
    String shown = tenant.length() > 80 ? tenant.substring(0, 80) + "..." : tenant;
    return "\"" + shown + "\"";
  }

  /** The server counts the lines of the request; the user sees those of the file. */
  private static String message(CarillonException e, String tenant, Chunk chunk) {
    if (e.errors().isEmpty()) {
      return "tenant " + quoted(tenant) + ": " + e.detail();
    }
    CarillonException.Problem first = e.errors().getFirst();
    Matcher where = LINE.matcher(first.pointer());
    if (!where.matches() || Integer.parseInt(where.group(1)) >= chunk.numbers.size()) {
      return e.detail();
    }
    int number = chunk.numbers.get(Integer.parseInt(where.group(1)));
    String more = e.errors().size() == 1 ? "" : ", and " + (e.errors().size() - 1) + " more";
    String field = where.group(2).isEmpty() ? "" : where.group(2) + " ";
    return "line " + number + ": " + field + first.message() + more;
  }

  private CommandFailed failed(String file, String why) {
    String before =
        restored == 0 ? "" : "; " + restored + " restored so far; run it again when this is fixed";
    return new CommandFailed((file.equals("-") ? "standard input" : file) + ": " + why + before);
  }
}

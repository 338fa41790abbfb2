package carillon.api.ui;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.api.http.Answer;
import carillon.api.http.Call;
import carillon.api.http.Endpoint;
import carillon.api.http.Permission;
import carillon.model.KeyText;
import java.io.IOException;
import java.io.StringReader;
import java.io.UncheckedIOException;
import java.net.JarURLConnection;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Serves the files of the dashboard and its libraries from a table that is filled at startup. The
 * path of a request is looked up there and never reaches the class path.
 */
public final class UiRoutes {

  private static final String INDEX = "/ui/index.html";

  private static final Map<String, String> CONTENT_TYPES =
      Map.of(
          "html", "text/html; charset=utf-8",
          "js", "text/javascript; charset=utf-8",
          "css", "text/css; charset=utf-8",
          "svg", "image/svg+xml");

  /** A library, the directory of its files in its package, and the files that are served. */
  private record Library(String name, String artifact, String directory, List<String> files) {}

  private static final List<Library> LIBRARIES =
      List.of(
          new Library("chart.js", "chart.js", "dist/", List.of("chart.umd.min.js")),
          new Library("lit", "lit", "", List.of("index.js")),
          new Library("lit-element", "lit-element", "", List.of("lit-element.js")),
          new Library(
              "lit-html",
              "lit-html",
              "",
              List.of(
                  "async-directive.js",
                  "directive-helpers.js",
                  "directive.js",
                  "directives/class-map.js",
                  "directives/guard.js",
                  "directives/if-defined.js",
                  "directives/keyed.js",
                  "directives/live.js",
                  "directives/map.js",
                  "directives/private-async-helpers.js",
                  "directives/ref.js",
                  "directives/repeat.js",
                  "directives/until.js",
                  "directives/when.js",
                  "is-server.js",
                  "lit-html.js")),
          new Library("pico", "picocss__pico", "css/", List.of("pico.min.css")),
          new Library(
              "reactive-element",
              "lit__reactive-element",
              "",
              List.of("css-tag.js", "reactive-element.js")));

  private static final Pattern IMPORT_MAP =
      Pattern.compile("<script type=\"importmap\">(.*?)</script>", Pattern.DOTALL);

  private final Map<String, UiFile> files = new HashMap<>();

  public UiRoutes() {
    ownFiles().stream().filter(UiRoutes::isAsset).forEach(name -> add(name, "/ui/" + name));
    for (Library library : LIBRARIES) {
      String root =
          "/META-INF/resources/webjars/" + library.artifact() + "/" + version(library) + "/";
      for (String file : library.files()) {
        add("lib/" + library.name() + "/" + file, root + library.directory() + file);
      }
    }
  }

  /** The names of all files below /ui, in the jar or, in tests, in a directory. */
  private static List<String> ownFiles() {
    URL index = Objects.requireNonNull(UiRoutes.class.getResource(INDEX), INDEX);
    try {
      return index.openConnection() instanceof JarURLConnection jar
          ? filesInJar(jar)
          : filesIn(Path.of(index.toURI()).resolveSibling(""));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }

  private static List<String> filesInJar(JarURLConnection connection) throws IOException {
    String root = "ui/";
    connection.setUseCaches(false); // a cached connection would stay open
    try (JarFile jar = connection.getJarFile()) {
      return jar.stream()
          .map(JarEntry::getName)
          .filter(name -> name.startsWith(root))
          .map(name -> name.substring(root.length()))
          .toList();
    }
  }

  private static List<String> filesIn(Path root) throws IOException {
    try (Stream<Path> files = Files.walk(root)) {
      return files
          .filter(Files::isRegularFile)
          .map(file -> root.relativize(file).toString().replace('\\', '/'))
          .toList();
    }
  }

  /** Pages have their own routes. */
  private static boolean isAsset(String name) {
    return name.endsWith(".js") || name.endsWith(".css") || name.endsWith(".svg");
  }

  private void add(String path, String resource) {
    files.put(path, new UiFile(resource, contentType(path)));
  }

  private static String contentType(String path) {
    String extension = path.substring(path.lastIndexOf('.') + 1);
    return CONTENT_TYPES.getOrDefault(extension, "application/octet-stream");
  }

  /** Read from the package itself, so that only the pom has the version. */
  private static String version(Library library) {
    Properties properties = new Properties();
    byte[] text =
        UiFile.read("/META-INF/maven/org.webjars.npm/" + library.artifact() + "/pom.properties");
    try {
      properties.load(new StringReader(new String(text, StandardCharsets.UTF_8)));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return Objects.requireNonNull(properties.getProperty("version"), library.artifact());
  }

  public List<Endpoint> endpoints() {
    UiFile index = new UiFile(INDEX, contentType(INDEX));
    String policy = policy(new String(UiFile.read(INDEX), StandardCharsets.UTF_8));
    return List.of(
        Endpoint.get(
            "/",
            Permission.NONE,
            call ->
                index
                    .answer(call)
                    .with("Content-Security-Policy", policy)
                    .with("Cross-Origin-Opener-Policy", "same-origin")),
        file("/ui/{file}"),
        file("/ui/{directory}/{file}"),
        file("/ui/lib/{library}/{file}"),
        file("/ui/lib/{library}/{directory}/{file}"));
  }

  private Endpoint file(String path) {
    return Endpoint.get(path, Permission.NONE, this::answer);
  }

  private Answer answer(Call call) {
    UiFile file = files.get(call.path().substring("/ui/".length()));
    if (file == null) {
      throw new ApiException(ErrorCode.NOT_FOUND, "the dashboard has no such file");
    }
    return file.answer(call);
  }

  /**
   * Allows only our own files and the import map of the page, and markup only from lit's templates.
   */
  private static String policy(String page) {
    Matcher map = IMPORT_MAP.matcher(page);
    if (!map.find()) {
      throw new IllegalStateException("index.html has no import map");
    }
    return String.join(
        "; ",
        "default-src 'none'",
        "script-src 'self' 'sha256-"
            + Base64.getEncoder().encodeToString(KeyText.sha256(map.group(1)))
            + "'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "font-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types lit-html");
  }
}

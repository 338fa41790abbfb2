package carillon.api.ui;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.api.TestApi;
import carillon.api.error.ErrorCode;
import carillon.model.KeyText;
import carillon.store.db.Json;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Base64;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** The files of the dashboard, as a browser requests them. */
class UiTest {

  private static final Pattern LINKED = Pattern.compile("(?:src|href)=\"(/ui/[^\"]+)\"");
  private static final Pattern IMPORTED =
      Pattern.compile("(?:\\bfrom|\\bimport)\\s*\\(?\\s*['\"]([^'\"\\s]+)['\"]");
  private static final Pattern IMPORT_MAP =
      Pattern.compile("<script type=\"importmap\">(.*?)</script>", Pattern.DOTALL);

  /** Files of the API documentation, which is a separate page. */
  private static final Set<String> OTHERS =
      Set.of("index.html", "docs.html", "docs.js", "docs.css");

  private static TestApi api;

  @BeforeAll
  static void start() {
    api = TestApi.start();
  }

  @AfterAll
  static void stop() {
    api.close();
  }

  private static TestApi.Reply file(String path) {
    return api.request("GET", path).send();
  }

  private static String index() {
    return file("/").expect(200).body();
  }

  private static String importMap() {
    Matcher map = IMPORT_MAP.matcher(index());
    assertThat(map.find()).isTrue();
    return map.group(1);
  }

  /** All files that a browser can load, starting from the page. */
  private static Map<String, TestApi.Reply> reachableFiles() {
    JsonNode imports = Json.MAPPER.readTree(importMap()).get("imports");
    Map<String, TestApi.Reply> found = new TreeMap<>();
    Deque<String> todo = new ArrayDeque<>();
    LINKED.matcher(index()).results().forEach(link -> todo.add(link.group(1)));
    while (!todo.isEmpty()) {
      String path = todo.pop();
      if (found.containsKey(path)) {
        continue;
      }
      TestApi.Reply reply = file(path).expect(200);
      found.put(path, reply);
      if (path.endsWith(".js") && !path.endsWith(".min.js")) {
        IMPORTED
            .matcher(reply.body())
            .results()
            .forEach(each -> todo.add(resolved(path, each.group(1), imports)));
      }
    }
    return found;
  }

  private static String resolved(String from, String name, JsonNode imports) {
    if (name.startsWith(".")) {
      return URI.create(from).resolve(name).getPath();
    }
    if (imports.has(name)) {
      return imports.get(name).asString();
    }
    return imports.propertyNames().stream()
        .filter(prefix -> prefix.endsWith("/") && name.startsWith(prefix))
        .map(prefix -> imports.get(prefix).asString() + name.substring(prefix.length()))
        .findFirst()
        .orElseThrow(() -> new AssertionError(from + " imports " + name));
  }

  private static Set<String> ownFiles() throws IOException {
    Path root =
        Path.of("src/main/resources/ui"); // not target/classes, which may have deleted files
    Set<String> names = new TreeSet<>();
    try (Stream<Path> files = Files.walk(root)) {
      files
          .filter(Files::isRegularFile)
          .map(file -> root.relativize(file).toString().replace('\\', '/'))
          .filter(name -> !OTHERS.contains(name))
          .forEach(names::add);
    }
    return names;
  }

  @Test
  void every_imported_module_is_served_and_every_file_is_reachable() throws Exception {
    Map<String, TestApi.Reply> found = reachableFiles();

    assertThat(found.keySet()).containsAll(ownFiles().stream().map("/ui/"::concat).toList());
    found.forEach(
        (path, reply) -> {
          String type =
              path.endsWith(".js")
                  ? "text/javascript"
                  : path.endsWith(".css") ? "text/css" : "image/svg+xml";
          assertThat(reply.header("content-type")).as(path).startsWith(type);
          assertThat(reply.header("x-content-type-options")).as(path).isEqualTo("nosniff");
        });
  }

  @Test
  void the_policy_allows_only_our_files_and_the_import_map() {
    String policy = String.valueOf(file("/").header("content-security-policy"));
    String hash = Base64.getEncoder().encodeToString(KeyText.sha256(importMap()));

    assertThat(policy)
        .startsWith("default-src 'none'; script-src 'self' 'sha256-" + hash + "';")
        .contains("style-src 'self'", "form-action 'none'", "require-trusted-types-for 'script'")
        .doesNotContain("unsafe");
  }

  @Test
  void no_template_creates_markup_from_text() throws Exception {
    for (String name : ownFiles()) {
      String text = file("/ui/" + name).expect(200).body();

      assertThat(text)
          .as(name)
          .doesNotContain(
              "innerHTML", "unsafeHTML", "insertAdjacentHTML", "document.write", "eval(")
          .doesNotContainPattern("<[^>]+\\sstyle=")
          .doesNotContainPattern("\\son[a-z]+=[\"$]");
    }
  }

  @Test
  void files_are_cached_and_compressed_for_clients_that_support_it() throws Exception {
    for (String path : List.of("/", "/ui/app.js", "/ui/lib/pico/pico.min.css")) {
      TestApi.Reply plain = file(path).expect(200);
      HttpResponse<byte[]> compressed = requestCompressed(path, "br, gzip;q=0.5");

      assertThat(compressed.headers().firstValue("content-encoding")).hasValue("gzip");
      assertThat(compressed.headers().firstValue("vary")).hasValue("Accept-Encoding");
      assertThat(decompress(compressed.body())).isEqualTo(plain.body());
      assertThat(
              requestCompressed("/ui/app.js", "gzip;q=0").headers().firstValue("content-encoding"))
          .isEmpty();
      String tag = compressed.headers().firstValue("etag").orElseThrow();
      assertThat(tag).isNotEqualTo(plain.header("etag"));
      api.request("GET", path)
          .header("If-None-Match", tag)
          .header("Accept-Encoding", "gzip")
          .send()
          .expect(304);
      TestApi.Reply head = api.request("HEAD", path).send().expect(200);
      assertThat(head.body()).isEmpty();
      assertThat(head.header("etag")).isEqualTo(plain.header("etag"));
    }
  }

  private static HttpResponse<byte[]> requestCompressed(String path, String accepted)
      throws Exception {
    try (HttpClient client = HttpClient.newHttpClient()) {
      return client.send(
          HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + api.port() + path))
              .header("Accept-Encoding", accepted)
              .build(),
          HttpResponse.BodyHandlers.ofByteArray());
    }
  }

  private static String decompress(byte[] bytes) throws IOException {
    try (var in = new GZIPInputStream(new ByteArrayInputStream(bytes))) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/ui/",
        "/ui/index.html",
        "/ui/docs.html",
        "/ui/openapi.json",
        "/ui/logback.xml",
        "/ui/../logback.xml",
        "/ui/..%2Flogback.xml",
        "/ui/pages/..%2F..%2Flogback.xml",
        "/ui/lib/lit/package.json",
        "/ui/lib/lit-html/directives/unsafe-html.js",
        "/ui/lib/lit/..%2F..%2F..%2F..%2F..%2Flogback.xml",
        "/ui/pages//tasks.js",
        "/ui/pages/tasks.js%00.css"
      })
  void a_path_outside_the_files_of_the_dashboard_is_not_found(String path) {
    file(path).expect(ErrorCode.NOT_FOUND);
  }
}

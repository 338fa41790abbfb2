package carillon.browser;

import static java.util.Objects.requireNonNull;
import static java.util.Objects.requireNonNullElse;

import carillon.client.Carillon;
import com.microsoft.playwright.Browser;
import com.microsoft.playwright.BrowserType;
import com.microsoft.playwright.Playwright;
import com.microsoft.playwright.assertions.PlaywrightAssertions;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * The program and a headless Chromium, started by the first test that needs them and shared by all
 * tests. Each test class has its own tenant.
 */
final class Site implements AutoCloseable {

  /** Long because the machine may be busy; an element that exists is found immediately. */
  static final int TIMEOUT_MILLIS = 15_000;

  /** The address of a running program to test instead; see KEY for its admin key. */
  private static final @Nullable String URL = System.getProperty("carillon.browser.url");

  private static final String KEY = System.getProperty("carillon.browser.key", "");

  /**
   * The sandbox does not work for root, /dev/shm is small in containers, and there is no GPU. One
   * process for all tabs of a class halves the work, because every process compiles all scripts.
   */
  private static final List<String> FLAGS =
      List.of(
          "--no-sandbox",
          "--disable-dev-shm-usage",
          "--disable-gpu",
          "--process-per-site",
          "--renderer-process-limit=1");

  /** The log of the program, to analyse failures. */
  private static final Path LOG = Path.of("target/server.log");

  private final Path directory;
  private final @Nullable Program program;
  private final Playwright playwright;
  private final Browser browser;

  private Site(Path chromium) throws IOException {
    PlaywrightAssertions.setDefaultAssertionTimeout(TIMEOUT_MILLIS);
    this.directory = Files.createTempDirectory("carillon-browser");
    this.program = URL == null ? new Program(directory) : null;
    Map<String, String> environment = new HashMap<>(System.getenv());
    environment.put("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1");
    this.playwright = Playwright.create(new Playwright.CreateOptions().setEnv(environment));
    this.browser =
        playwright
            .chromium()
            .launch(new BrowserType.LaunchOptions().setExecutablePath(chromium).setArgs(FLAGS));
  }

  static Site of(ExtensionContext context) {
    return context
        .getRoot()
        .getStore(ExtensionContext.Namespace.GLOBAL)
        .computeIfAbsent(Site.class, _ -> start(), Site.class);
  }

  private static Site start() {
    Path chromium = chromium();
    if (chromium == null) {
      String message = "NOT RUN: chromium is not installed, so the dashboard is untested";
      System.err.println("\n*** " + message + " ***\n");
      if ("true".equals(System.getenv("CI"))) {
        throw new AssertionError(message);
      }
      Assumptions.abort(message);
    }
    try {
      return new Site(chromium);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Searches the same directories as tools/packages, which reports the tests that were not run. */
  private static @Nullable Path chromium() {
    return Stream.of(requireNonNullElse(System.getenv("PATH"), "").split(File.pathSeparator, -1))
        .map(directory -> Path.of(directory, "chromium"))
        .filter(Files::isExecutable)
        .findFirst()
        .orElse(null);
  }

  String url() {
    return program == null ? requireNonNull(URL) : program.url();
  }

  String adminKey() {
    return program == null ? KEY : program.adminKey();
  }

  Carillon connect(String key) {
    return Carillon.connect(url(), key);
  }

  Browser browser() {
    return browser;
  }

  @Override
  public void close() throws IOException {
    browser.close();
    playwright.close();
    if (program != null) {
      program.close();
      Files.copy(directory.resolve("err"), LOG, StandardCopyOption.REPLACE_EXISTING);
    }
    try (Stream<Path> files = Files.walk(directory)) {
      files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
    }
  }
}

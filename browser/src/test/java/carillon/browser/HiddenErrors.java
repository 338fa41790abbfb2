package carillon.browser;

import com.microsoft.playwright.BrowserContext;
import com.microsoft.playwright.ConsoleMessage;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.Request;
import com.microsoft.playwright.Response;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Errors of a tab that nobody sees: console, responses, policy. A passing test has none. */
final class Complaints {

  /** Hostile text sets the flag if it ever runs; violations of the page's policy go to the list. */
  private static final String SPIES =
      """
      window.reports = [];
      document.addEventListener('securitypolicyviolation', (e) =>
          window.reports.push(`${e.violatedDirective} ${e.blockedURI} ${e.sample}`));
      """;

  private final List<String> found = new ArrayList<>();
  private final Set<Integer> expected = new HashSet<>();
  private final List<Page> pages = new ArrayList<>();

  void watch(BrowserContext context) {
    context.addInitScript(SPIES);
    context.onPage(this::watch);
    context.onConsoleMessage(this::console);
    context.onWebError(error -> found.add("uncaught: " + error.error()));
    context.onResponse(this::response);
    context.onRequestFailed(this::failed);
  }

  private void watch(Page page) {
    pages.add(page);
    page.onDialog(
        dialog -> {
          found.add("dialog: " + dialog.message());
          dialog.dismiss();
        });
    page.onCrash(_ -> found.add("the tab crashed"));
  }

  /** Before the next test. */
  void forget() {
    found.clear();
    expected.clear();
    pages.clear();
  }

  /** The test expects responses with this status. */
  void expect(int status) {
    expected.add(status);
  }

  private void console(ConsoleMessage message) {
    boolean bad = message.type().equals("error") || message.type().equals("warning");
    // Chromium repeats failed requests there; response() has handled them.
    if (bad && !message.text().startsWith("Failed to load resource")) {
      found.add("console: " + message.text() + " at " + message.location());
    }
  }

  private void response(Response response) {
    if (response.status() >= 400 && !expected.contains(response.status())) {
      found.add("answer: " + response.status() + " " + called(response.request()));
    }
  }

  private void failed(Request request) {
    // A stream or a request that the page itself has aborted.
    if (!"net::ERR_ABORTED".equals(request.failure())) {
      found.add("request: " + request.failure() + " " + called(request));
    }
  }

  private static String called(Request request) {
    return request.method() + " " + request.url();
  }

  /** Everything found so far. */
  List<String> list() {
    List<String> all = new ArrayList<>(found);
    for (Page page : pages) {
      if (!page.isClosed()) {
        for (Object report : (List<?>) page.evaluate("() => window.reports ?? []")) {
          all.add("policy: " + report);
        }
        if (page.evaluate("() => window.hostile") != null) {
          all.add("hostile text was run");
        }
      }
    }
    return all;
  }
}

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

/**
 * Errors that a page does not show: in the console, failed requests, violations of its content
 * policy. A passing test has none.
 */
final class HiddenErrors {

  /** Records violations of the page's content policy. */
  private static final String REPORT_VIOLATIONS =
      """
      window.reports = [];
      document.addEventListener('securitypolicyviolation', (e) =>
          window.reports.push(`${e.violatedDirective} ${e.blockedURI} ${e.sample}`));
      """;

  private final List<String> found = new ArrayList<>();
  private final Set<Integer> expected = new HashSet<>();
  private final List<Page> pages = new ArrayList<>();

  void watch(BrowserContext context) {
    context.addInitScript(REPORT_VIOLATIONS);
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

  /** Starts over for the next test. */
  void clear() {
    found.clear();
    expected.clear();
    pages.clear();
  }

  /** Ignores responses with this status. */
  void expect(int status) {
    expected.add(status);
  }

  private void console(ConsoleMessage message) {
    boolean bad = message.type().equals("error") || message.type().equals("warning");
    // Chromium also logs failed responses, which response() handles.
    if (bad && !message.text().startsWith("Failed to load resource")) {
      found.add("console: " + message.text() + " at " + message.location());
    }
  }

  private void response(Response response) {
    if (response.status() >= 400 && !expected.contains(response.status())) {
      found.add("response: " + response.status() + " " + describe(response.request()));
    }
  }

  private void failed(Request request) {
    // The page itself aborts streams and requests.
    if (!"net::ERR_ABORTED".equals(request.failure())) {
      found.add("request: " + request.failure() + " " + describe(request));
    }
  }

  private static String describe(Request request) {
    return request.method() + " " + request.url();
  }

  /** All errors so far. */
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

package carillon.browser;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.options.ColorScheme;
import com.microsoft.playwright.options.ReducedMotion;
import java.util.List;
import java.util.Locale;

/** How the dashboard is looked at. */
enum Look {
  LIGHT(1280, 900, ColorScheme.LIGHT),
  DARK(1280, 900, ColorScheme.DARK),
  PHONE(375, 740, ColorScheme.LIGHT);

  /** Neither UTC nor the zone of the tests, so that a time shown in either is a mistake seen. */
  static final String ZONE = "America/New_York";

  private final int width;
  private final int height;
  private final ColorScheme scheme;

  Look(int width, int height, ColorScheme scheme) {
    this.width = width;
    this.height = height;
    this.scheme = scheme;
  }

  /** What all of them have in common. */
  static Browser.NewContextOptions options() {
    return new Browser.NewContextOptions()
        .setLocale("en-US")
        .setTimezoneId(ZONE)
        .setReducedMotion(ReducedMotion.REDUCE)
        .setPermissions(List.of("clipboard-read", "clipboard-write"));
  }

  /** Changes a page that is open. */
  void on(Page page) {
    page.emulateMedia(new Page.EmulateMediaOptions().setColorScheme(scheme));
    page.setViewportSize(width, height);
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}

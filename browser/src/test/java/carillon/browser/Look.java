package carillon.browser;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.options.ColorScheme;
import com.microsoft.playwright.options.ReducedMotion;
import java.util.List;
import java.util.Locale;

/** A window size and colour scheme. */
enum Look {
  LIGHT(1280, 900, ColorScheme.LIGHT),
  DARK(1280, 900, ColorScheme.DARK),
  PHONE(375, 740, ColorScheme.LIGHT);

  /** Neither UTC nor the zone of the tests: a time in the wrong zone fails a test. */
  static final String ZONE = "America/New_York";

  private final int width;
  private final int height;
  private final ColorScheme scheme;

  Look(int width, int height, ColorScheme scheme) {
    this.width = width;
    this.height = height;
    this.scheme = scheme;
  }

  /** The options of the browser, for all looks. */
  static Browser.NewContextOptions options() {
    return new Browser.NewContextOptions()
        .setLocale("en-US")
        .setTimezoneId(ZONE)
        .setReducedMotion(ReducedMotion.REDUCE)
        .setPermissions(List.of("clipboard-read", "clipboard-write"));
  }

  /** Applies the look to an open page. */
  void applyTo(Page page) {
    page.emulateMedia(new Page.EmulateMediaOptions().setColorScheme(scheme));
    page.setViewportSize(width, height);
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}

package carillon.browser;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;

import com.microsoft.playwright.Page;
import java.util.stream.Stream;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every page with data, in light mode, in dark mode and on a phone. */
class PagesTest {

  @RegisterExtension static final Dashboard dashboard = new Dashboard();

  private static final Receiver receiver = new Receiver();
  private static Samples samples;

  /**
   * A page to check.
   *
   * @param text expected on the page
   */
  record Place(String name, String route, String text, boolean forAdmins) {
    Place(String name, String route, String text) {
      this(name, route, text, false);
    }

    @Override
    public String toString() {
      return name;
    }
  }

  @BeforeAll
  static void fill() {
    samples = new Samples(dashboard.carillon(), receiver);
    samples.create();
  }

  @AfterAll
  static void close() {
    receiver.close();
  }

  static Stream<Place> places() {
    return Stream.of(
        new Place("overview", "/overview", "welcome-mail"),
        new Place("tasks", "/tasks", "reminder"),
        new Place("tasks-dead", "/tasks?status=DEAD", Samples.ORDER),
        new Place("task", "/tasks/" + samples.id(Samples.ORDER), Samples.REASON),
        new Place("dead-letters", "/dead-letters", "invoice"),
        new Place("schedules", "/schedules", "nightly-report"),
        new Place("schedule", "/schedules/nightly-report", "Europe/Berlin"),
        new Place("types", "/types", "newsletter"),
        new Place("type", "/types/invoice", "invoice"),
        new Place("settings", "/settings", "Owner"),
        new Place("cluster", "/cluster", "Partitions", true),
        new Place("overview-admin", "/overview", "pagestest", true));
  }

  @ParameterizedTest
  @MethodSource("places")
  void every_page_is_accessible_and_fits_its_window(Place place) {
    Page page =
        place.forAdmins()
            ? dashboard.open(place.route(), Look.LIGHT, dashboard.adminKey())
            : dashboard.open(place.route());
    assertThat(Parts.main(page)).containsText(place.text());
    assertThat(Parts.heading(page)).hasCount(1);
    assertThat(Parts.alert(page)).hasCount(0);

    for (Look look : Look.values()) {
      Dashboard.screenshot(page, place.name(), look);
      if (look != Look.PHONE) {
        Axe.check(page, place + ", " + look);
      }
      Assertions.assertThat(overflow(page)).as("%s, %s: too wide by", place, look).isZero();
    }
  }

  /** The number of pixels by which the page is wider than the window. */
  static int overflow(Page page) {
    return ((Number)
            page.evaluate(
                "() => document.documentElement.scrollWidth"
                    + " - document.documentElement.clientWidth"))
        .intValue();
  }
}

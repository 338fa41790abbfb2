package carillon.browser;

import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Page;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The first page that anybody sees. */
class HarnessTest {

  @RegisterExtension static final Dashboard dashboard = new Dashboard();

  @Test
  void the_program_serves_a_page_at_its_root() {
    Page page = dashboard.openSignedOut("/", Look.LIGHT);

    assertThat(page.title()).contains("Carillon");
  }
}

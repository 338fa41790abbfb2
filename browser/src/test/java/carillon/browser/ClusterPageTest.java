package carillon.browser;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;

import com.microsoft.playwright.Page;
import java.time.LocalDate;
import java.time.ZoneOffset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Nodes and the database. */
class ClusterPageTest {

  @RegisterExtension static final Dashboard dashboard = new Dashboard();

  @Test
  void nodes_shards_and_the_database_are_shown() {
    Page page = dashboard.open("/cluster", Look.LIGHT, dashboard.adminKey());

    assertThat(Parts.rows(page, "tower")).containsText("Leader");
    assertThat(Parts.rows(page, "tower")).containsText("Alive");
    assertThat(Parts.main(page)).containsText("64 shards");
    assertThat(Parts.main(page)).containsText("Oldest snapshot");
    assertThat(Parts.rows(page, LocalDate.now(ZoneOffset.UTC).toString())).containsText("today");
    page.getByText("Other tables").click();
    assertThat(Parts.rows(page, "dead_letter_group")).isVisible();
    Axe.check(page, "cluster, unfolded");
  }

  @Test
  void only_admins_see_the_cluster() {
    dashboard.expect(403);
    Page page = dashboard.open("/cluster");

    assertThat(Parts.link(page, "Cluster")).hasCount(0);
    assertThat(Parts.main(page)).not().containsText("tower");
  }
}

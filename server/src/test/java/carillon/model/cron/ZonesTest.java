package carillon.model.cron;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ZonesTest {

  @ParameterizedTest
  @ValueSource(
      strings = {
        "UTC",
        "Etc/UTC",
        "Europe/Berlin",
        "America/Argentina/Buenos_Aires",
        "Australia/Lord_Howe",
        "Asia/Calcutta"
      })
  void iana_zone_names_are_accepted(String name) {
    assertThat(Zones.find(name)).hasValueSatisfying(zone -> assertThat(zone).hasToString(name));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        " ",
        "Mars/Phobos",
        "EST",
        "MST",
        "HST",
        "CET",
        "PST8PDT",
        "PST",
        "+25:00",
        "+02:00",
        "Z",
        "UTC+1",
        "GMT+2",
        "UT",
        "../../etc/passwd",
        "europe/berlin",
        "Europe/Berlin ",
        "SystemV/EST5EDT",
        "Europe/Berlin\u0000"
      })
  void other_zone_names_are_rejected(String name) {
    assertThat(Zones.find(name)).isEmpty();
  }

  @Test
  void the_version_of_the_zone_data_is_known() {
    assertThat(Zones.dataVersion()).matches("20[0-9]{2}[a-z]");
  }
}

//! Meters of quotas.

use super::*;

fn meter(quotas: Quotas) -> Arc<Meter> {
    Arc::new(Meter::new("id", "alice", quotas, Duration::ZERO))
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn a_rejected_request_costs_its_time_and_one_item() {
    let meter = meter(Quotas {
        items_per_minute: Some(10),
        cpu_seconds_per_minute: Some(1),
        bytes_stored: Some(100),
        ..Quotas::default()
    });
    let charge = meter.admit(10, 60, at(0)).unwrap();
    assert_eq!(meter.admit_time(at(0)), Ok(()));
    charge.spend(at(2));
    charge.reject();
    drop(charge);
    assert_eq!(meter.bytes_used(), 0);
    let exceeded = meter.admit_time(at(0)).unwrap_err();
    assert_eq!(exceeded.quota, Quota::CpuSecondsPerMinute);
    assert_eq!(meter.usage().items.tokens, 9.0);
    // Nothing more than the limit is available later.
    assert!(meter.admit(10, 60, at(120)).is_ok());
    assert!(meter.admit(1, 0, at(120)).is_err());
}

#[test]
fn nodes_share_the_quotas_of_a_key() {
    let quotas = Quotas {
        items_per_minute: Some(60),
        cpu_seconds_per_minute: Some(60),
        items_in_flight: Some(50),
        ..Quotas::default()
    };
    let (one, other) = (meter(quotas), meter(quotas));
    assert_eq!(one.unwritten(false), None);
    let charge = one.admit(40, 0, at(0)).unwrap();
    charge.spend(at(70));
    let used = QuotaUse {
        key: "id".to_owned(),
        items: 40,
        cpu_us: 70_000_000,
        in_flight: 40,
    };
    assert_eq!(one.unwritten(false), Some(used.clone()));
    one.set_written(used.clone());
    // The allowance of the other node was full for a while, which does not count.
    other.charge_elsewhere(&used, at(100));
    let refused = |items, now| other.admit(items, 0, at(now)).map_err(|why| why.quota);
    assert_eq!(refused(11, 100).unwrap_err(), Quota::ItemsInFlight);
    assert_eq!(refused(1, 105).unwrap_err(), Quota::CpuSecondsPerMinute);
    other.charge_elsewhere(&QuotaUse::default(), at(111));
    assert_eq!(refused(50, 111).unwrap_err(), Quota::ItemsPerMinute);
    refused(31, 111).unwrap();
    // Items in progress are written again, then the end once, and all that a process has used.
    assert_eq!(one.unwritten(false), Some(used.clone()));
    drop(charge);
    let done = QuotaUse {
        in_flight: 0,
        ..used
    };
    assert_eq!(one.unwritten(false), Some(done.clone()));
    one.set_written(done.clone());
    assert_eq!(one.unwritten(false), None);
    assert_eq!(one.unwritten(true), Some(done));
    // A rejected request counts as one item.
    let charge = one.admit(10, 0, at(200)).unwrap();
    charge.reject();
    drop(charge);
    assert_eq!(one.unwritten(false).unwrap().items, 41);
}

#[test]
fn items_per_minute_free_at_a_constant_rate() {
    let meter = meter(Quotas {
        items_per_minute: Some(60),
        ..Quotas::default()
    });
    meter.admit(60, 0, at(0)).unwrap();
    let exceeded = meter.admit(10, 0, at(4)).unwrap_err();
    assert_eq!(exceeded.quota, Quota::ItemsPerMinute);
    assert_eq!(exceeded.retry_after_s(), 6);
    assert!(
        exceeded
            .to_string()
            .contains("`items_per_minute` of the key (60)"),
        "{exceeded}"
    );
    meter.admit(10, 0, at(10)).unwrap();
    assert!(meter.admit(1, 0, at(10)).is_err());
}

#[test]
fn a_batch_above_the_limit_delays_later_ones() {
    let meter = meter(Quotas {
        items_per_minute: Some(60),
        ..Quotas::default()
    });
    meter.admit(180, 0, at(0)).unwrap();
    assert_eq!(meter.admit(1, 0, at(0)).unwrap_err().retry_after_s(), 121);
    meter.admit(1, 0, at(121)).unwrap();
}

#[test]
fn time_is_charged_when_it_is_known() {
    let meter = meter(Quotas {
        cpu_seconds_per_minute: Some(30),
        ..Quotas::default()
    });
    let charge = meter.admit(1, 0, at(0)).unwrap();
    charge.spend(at(40));
    let exceeded = meter.admit(1, 0, at(10)).unwrap_err();
    assert_eq!(
        (exceeded.quota, exceeded.limit),
        (Quota::CpuSecondsPerMinute, 30)
    );
    assert_eq!(exceeded.retry_after_s(), 11);
    meter.admit(1, 0, at(21)).unwrap();
}

#[test]
fn items_are_in_flight_until_the_request_is_done() {
    let meter = meter(Quotas {
        items_in_flight: Some(4),
        ..Quotas::default()
    });
    let first = meter.admit(3, 0, at(0)).unwrap();
    assert_eq!(
        meter.admit(2, 0, at(0)).unwrap_err().quota,
        Quota::ItemsInFlight
    );
    let second = meter.admit(1, 0, at(0)).unwrap();
    drop(first);
    assert!(meter.admit(5, 0, at(0)).is_err());
    drop(second);
    // Alone, a batch above the limit is admitted, because it could never be sent otherwise.
    drop(meter.admit(5, 0, at(0)).unwrap());
    assert_eq!(meter.in_flight.load(Ordering::Relaxed), 0);
}

fn with_bytes(limit: u64) -> Arc<Meter> {
    meter(Quotas {
        bytes_stored: Some(limit),
        ..Quotas::default()
    })
}

#[test]
fn bytes_of_requests_count_until_the_record_is_read() {
    let meter = with_bytes(100);
    let first = meter.admit(1, 60, at(0)).unwrap();
    let exceeded = meter.admit(1, 60, at(9_999)).unwrap_err();
    assert_eq!(
        (exceeded.quota, exceeded.retry_after, exceeded.bytes),
        (Quota::BytesStored, None, Some((60, 60)))
    );
    // A request that is in progress when the record is read counts in addition.
    let mark = meter.mark();
    meter.set_held(30, mark);
    assert_eq!(meter.bytes_used(), 90);
    drop(first);
    assert_eq!(meter.bytes_used(), 90);
    // Once it is done, only its bytes in the record count.
    meter.set_held(45, meter.mark());
    assert_eq!(meter.bytes_used(), 45);
    drop(meter.admit(1, 55, at(0)).unwrap());
    assert!(meter.admit(1, 1, at(0)).is_err());
}

#[test]
fn bytes_free_when_grades_are_deleted() {
    let meter = with_bytes(100);
    meter.set_held(100, meter.mark());
    assert!(meter.admit(1, 10, at(0)).is_err());
    // A request that stores nothing is admitted.
    drop(meter.admit(1, 0, at(0)).unwrap());
    meter.set_held(0, meter.mark());
    drop(meter.admit(1, 100, at(0)).unwrap());
}

#[test]
fn an_earlier_reading_of_the_record_does_not_replace_a_later_one() {
    let meter = with_bytes(100);
    let earlier = meter.mark();
    drop(meter.admit(1, 60, at(0)).unwrap());
    let later = meter.mark();
    meter.set_held(50, later);
    meter.set_held(0, earlier);
    assert_eq!(meter.bytes_used(), 50);
}

#[test]
fn the_time_of_use_is_taken_once() {
    let meter = with_bytes(100);
    assert_eq!(meter.take_use(), None);
    meter.used(7);
    meter.used(5);
    assert_eq!(meter.take_use(), Some(7));
    assert_eq!(meter.take_use(), None);
}

#[test]
fn what_was_used_without_a_quota_does_not_count() {
    let meter = meter(Quotas::default());
    meter.admit(1_000, 0, at(0)).unwrap().spend(at(9_999));
    let quotas = Quotas {
        items_per_minute: Some(60),
        cpu_seconds_per_minute: Some(30),
        ..Quotas::default()
    };
    meter.set_quotas(quotas, at(1));
    meter.admit(60, 0, at(1)).unwrap().spend(at(40));
    let exceeded = meter.admit(1, 0, at(1)).unwrap_err();
    assert_eq!(exceeded.quota, Quota::CpuSecondsPerMinute);
    // The same quotas again, or a higher one, keep what was used.
    meter.set_quotas(quotas, at(1));
    assert!(meter.admit(1, 0, at(1)).is_err());
    let higher = Quotas {
        cpu_seconds_per_minute: None,
        items_per_minute: Some(120),
        ..quotas
    };
    meter.set_quotas(higher, at(1));
    let exceeded = meter.admit(2, 0, at(1)).unwrap_err();
    assert_eq!(exceeded.quota, Quota::ItemsPerMinute);
    meter.admit(2, 0, at(2)).unwrap();
}

#[test]
fn names_parse_with_hyphens_and_underscores() {
    for quota in Quota::ALL {
        let name = quota.as_str();
        assert_eq!(name.parse(), Ok(quota));
        assert_eq!(name.replace('_', "-").parse(), Ok(quota));
    }
    assert!("bytes".parse::<Quota>().is_err());
}

#[test]
fn a_limit_of_zero_admits_nothing() {
    let meter = meter(Quotas {
        items_per_minute: Some(0),
        ..Quotas::default()
    });
    assert_eq!(
        meter.admit(1, 0, at(9_999)).unwrap_err().retry_after_s(),
        3_600
    );
}

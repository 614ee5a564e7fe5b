//! What Fix Loop and its supervisor say to each other over their socket: frames of a kind, a length and bytes.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::{Identity, NotStarted};

/// The first frame to the supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Start {
    pub argv: Vec<String>,
    pub cwd: PathBuf,
    pub env: Vec<(String, String)>,
    pub limit_ms: u64,
    pub grace_ms: u64,
}

/// To the supervisor.
#[derive(Debug)]
pub(super) enum Order {
    Start(Start),
    /// More standard input.
    Input(Vec<u8>),
    /// No more standard input.
    EndInput,
    Cancel,
}

/// From the supervisor.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Notice {
    Started(Identity),
    NotStarted { kind: NotStarted, message: String },
    Ended { why: Why, code: Option<i32>, signal: Option<i32>, elapsed_ms: u64, leftovers: u32 },
}

/// Who decided the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Why {
    ByItself,
    OverLimit,
    Cancelled,
}

/// A specification holds an environment and arguments, a notice a few numbers: more than this is not ours.
const LONGEST: u32 = 64 * 1024 * 1024;

const START: u8 = b'S';
const INPUT: u8 = b'I';
const END_INPUT: u8 = b'E';
const CANCEL: u8 = b'C';
const NOTICE: u8 = b'N';

pub(super) async fn send_order(to: &mut (impl AsyncWrite + Unpin), order: &Order) -> std::io::Result<()> {
    match order {
        Order::Start(start) => send(to, START, &serde_json::to_vec(start)?).await,
        Order::Input(bytes) => send(to, INPUT, bytes).await,
        Order::EndInput => send(to, END_INPUT, &[]).await,
        Order::Cancel => send(to, CANCEL, &[]).await,
    }
}

/// The next order; an error when the parent is gone or does not speak this protocol.
pub(super) async fn receive_order(from: &mut (impl AsyncRead + Unpin)) -> std::io::Result<Order> {
    let (kind, bytes) = receive(from).await?;
    match kind {
        START => Ok(Order::Start(serde_json::from_slice(&bytes)?)),
        INPUT => Ok(Order::Input(bytes)),
        END_INPUT => Ok(Order::EndInput),
        CANCEL => Ok(Order::Cancel),
        _ => Err(std::io::ErrorKind::InvalidData.into()),
    }
}

pub(super) async fn send_notice(to: &mut (impl AsyncWrite + Unpin), notice: &Notice) -> std::io::Result<()> {
    send(to, NOTICE, &serde_json::to_vec(notice)?).await
}

pub(super) async fn receive_notice(from: &mut (impl AsyncRead + Unpin)) -> std::io::Result<Notice> {
    let (_, bytes) = receive(from).await?;
    Ok(serde_json::from_slice(&bytes)?)
}

async fn send(to: &mut (impl AsyncWrite + Unpin), kind: u8, bytes: &[u8]) -> std::io::Result<()> {
    let length = u32::try_from(bytes.len()).ok().filter(|length| *length <= LONGEST);
    let length = length.ok_or(std::io::ErrorKind::InvalidInput)?;
    let mut head = [kind, 0, 0, 0, 0];
    head[1..].copy_from_slice(&length.to_le_bytes());
    to.write_all(&head).await?;
    to.write_all(bytes).await?;
    to.flush().await
}

async fn receive(from: &mut (impl AsyncRead + Unpin)) -> std::io::Result<(u8, Vec<u8>)> {
    let mut head = [0; 5];
    from.read_exact(&mut head).await?;
    let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
    if length > LONGEST {
        return Err(std::io::ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; length as usize];
    from.read_exact(&mut bytes).await?;
    Ok((head[0], bytes))
}
